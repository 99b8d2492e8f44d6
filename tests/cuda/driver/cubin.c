/* A cubin says itself what its kernels need: architecture, parameters, registers, shared memory, cluster. */
#include "standin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_CUDA 190
#define SECTION_INFO 0x70000000u

enum { /* attributes of .nv.info that matter here */
    MAX_THREADS = 0x05,
    PARAMETER = 0x17,
    PARAMETER_BYTES = 0x19,
    REGISTERS = 0x2f,
    CLUSTER = 0x3d,
};

typedef void AttributeReader(void *target, int attribute, const unsigned char *value, unsigned size);

static uint32_t word(const unsigned char *bytes) {
    uint32_t value;
    memcpy(&value, bytes, 4);
    return value;
}

static uint16_t half(const unsigned char *bytes) {
    uint16_t value;
    memcpy(&value, bytes, 2);
    return value;
}

static void each_attribute(const unsigned char *at, size_t size, AttributeReader *reader, void *target) {
    const unsigned char *end = at + size;
    while (at + 4 <= end) {
        int format = at[0], attribute = at[1];
        unsigned length = format == 4 ? half(at + 2) : 2;
        const unsigned char *value = format == 4 ? at + 4 : at + 2;
        if (value + length > end)
            return;
        reader(target, attribute, value, length);
        at = value + length;
    }
}

static void read_kernel_attribute(void *target, int attribute, const unsigned char *value, unsigned size) {
    KernelImage *kernel = target;
    if (attribute == PARAMETER && size >= 12) {
        int ordinal = half(value + 4);
        if (ordinal < MAX_PARAMETERS) {
            kernel->offsets[ordinal] = half(value + 6);
            kernel->sizes[ordinal] = (int)(word(value + 8) >> 18);
            if (ordinal >= kernel->parameters)
                kernel->parameters = ordinal + 1;
        }
    } else if (attribute == PARAMETER_BYTES) {
        kernel->parameter_bytes = half(value);
    } else if (attribute == MAX_THREADS && size >= 12) {
        kernel->max_threads = (int)(word(value) * word(value + 4) * word(value + 8));
    } else if (attribute == CLUSTER && size >= 12) {
        kernel->cluster = (int)(word(value) * word(value + 4) * word(value + 8));
    }
}

typedef struct {
    CubinImage *cubin;
    const Elf64_Sym *symbols;
    size_t count;
    const char *names;
} Symbols;

static KernelImage *kernel_named(CubinImage *cubin, const char *name) {
    for (int i = 0; i < cubin->kernels; i++)
        if (strcmp(cubin->kernel[i].name, name) == 0)
            return &cubin->kernel[i];
    return NULL;
}

static void read_module_attribute(void *target, int attribute, const unsigned char *value, unsigned size) {
    Symbols *symbols = target;
    if (attribute != REGISTERS || size < 8 || word(value) >= symbols->count)
        return;
    KernelImage *kernel = kernel_named(symbols->cubin, symbols->names + symbols->symbols[word(value)].st_name);
    if (kernel)
        kernel->registers = (int)word(value + 4);
}

static size_t image_size(const Elf64_Ehdr *header, const Elf64_Shdr *sections) {
    size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    size_t programs = header->e_phoff + (size_t)header->e_phnum * header->e_phentsize;
    if (programs > size)
        size = programs;
    for (int i = 0; i < header->e_shnum; i++)
        if (sections[i].sh_type != SHT_NOBITS && sections[i].sh_offset + sections[i].sh_size > size)
            size = sections[i].sh_offset + sections[i].sh_size;
    return size;
}

static void add_kernel(CubinImage *cubin, const char *name) {
    cubin->kernel = realloc(cubin->kernel, (size_t)(cubin->kernels + 1) * sizeof *cubin->kernel);
    KernelImage *kernel = &cubin->kernel[cubin->kernels++];
    memset(kernel, 0, sizeof *kernel);
    kernel->name = strdup(name);
    kernel->max_threads = 1024;
    kernel->cluster = 1;
}

static void add_globals(const Symbols *symbols) {
    CubinImage *cubin = symbols->cubin;
    for (size_t i = 0; i < symbols->count; i++)
        if (ELF64_ST_TYPE(symbols->symbols[i].st_info) == STT_OBJECT && symbols->symbols[i].st_size) {
            cubin->global = realloc(cubin->global, (size_t)(cubin->globals + 1) * sizeof *cubin->global);
            cubin->global[cubin->globals++] =
                (GlobalImage){strdup(symbols->names + symbols->symbols[i].st_name), symbols->symbols[i].st_size};
        }
}

CubinImage *read_cubin(const void *image, const char **reason) {
    const unsigned char *bytes = image;
    const Elf64_Ehdr *header = image;
    if (memcmp(bytes, ELFMAG, SELFMAG) != 0 || header->e_machine != MACHINE_CUDA) {
        *reason = "no cubin";
        return NULL;
    }
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
    const char *section_names = (const char *)bytes + sections[header->e_shstrndx].sh_offset;
    CubinImage *cubin = calloc(1, sizeof *cubin);
    Symbols symbols = {.cubin = cubin};
    cubin->size = image_size(header, sections);
    cubin->architecture = header->e_ident[EI_ABIVERSION] >= 8 ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff;
    for (int i = 0; i < header->e_shnum; i++) {
        const char *name = section_names + sections[i].sh_name;
        if (strncmp(name, ".nv.info.", 9) == 0 && sections[i].sh_type == SECTION_INFO) {
            add_kernel(cubin, name + 9);
            each_attribute(bytes + sections[i].sh_offset, sections[i].sh_size, read_kernel_attribute,
                           &cubin->kernel[cubin->kernels - 1]);
        } else if (sections[i].sh_type == SHT_SYMTAB) {
            symbols.symbols = (const Elf64_Sym *)(bytes + sections[i].sh_offset);
            symbols.count = sections[i].sh_size / sizeof *symbols.symbols;
            symbols.names = (const char *)bytes + sections[sections[i].sh_link].sh_offset;
        }
    }
    for (int i = 0; i < header->e_shnum; i++) {
        const char *name = section_names + sections[i].sh_name;
        if (strcmp(name, ".nv.info") == 0 && symbols.symbols)
            each_attribute(bytes + sections[i].sh_offset, sections[i].sh_size, read_module_attribute, &symbols);
        KernelImage *kernel = strncmp(name, ".nv.shared.", 11) == 0 ? kernel_named(cubin, name + 11) : NULL;
        if (kernel)
            kernel->shared = (int)sections[i].sh_size;
    }
    add_globals(&symbols);
    return cubin;
}

void free_cubin(CubinImage *cubin) {
    for (int i = 0; i < cubin->globals; i++)
        free(cubin->global[i].name);
    free(cubin->global);
    for (int i = 0; i < cubin->kernels; i++)
        free(cubin->kernel[i].name);
    free(cubin->kernel);
    free(cubin);
}
