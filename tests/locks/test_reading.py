"""Locks from CUDA C, PTX and descriptions, and what is wrong with those that are none."""

from __future__ import annotations

import pytest

from gpudiy.errors import InputError
from gpudiy.locks.cuda_source import find_device_functions
from gpudiy.locks.generation import build_lock_test, list_cases
from gpudiy.locks.judge import LockJudge
from gpudiy.locks.lock import Lock
from gpudiy.locks.placement import ThreadPlacement
from gpudiy.locks.remarks import RemarkKind, find_remarks
from gpudiy.locks.source import Reading, load_lock, read_lock
from gpudiy.models.library import load_model
from gpudiy.models.verdict import decide
from locks.known import needs_compiler, plain_cases

PAIR = (
    "__device__ void lock(int *m) { while (atomicCAS(m, 0, 1)) ; __threadfence(); }\n"
    "__device__ void unlock(int *m) { __threadfence(); atomicExch(m, 0); }\n"
)
PTX = """\
.version 8.0
.target sm_70
.address_size 64
.visible .func lock(.param .b64 lock_param_0)
{
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [lock_param_0];
L1:
  atom.global.cas.b32 %r1, [%rd1], 0, 1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra L1;
  FENCE
  ret;
}
.visible .func unlock(.param .b64 unlock_param_0)
{
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [unlock_param_0];
  FENCE
  atom.global.exch.b32 %r1, [%rd1], 0;
  ret;
}
"""
DESCRIPTION = """\
lock mine
variables lock = 1
acquire:
again: atom.cas r0, [lock], 1, 0   # a free lock holds 1
    setp.ne p, r0, 1
    @p bra again
    fence.acq_rel.gpu
release:
    fence.acq_rel.gpu
    atom.exch r1, [lock], 1
"""


def right(lock: Lock) -> bool:
    """Whether two threads find nothing wrong: three cost more, and are asked about locks of the library."""
    asked = [case for case in plain_cases(lock) if case.threads == 2]
    tests = [made.test for case in asked if (made := build_lock_test(case)) is not None]
    return not any(decide(test, load_model("ptx-6.0")).allowed for test in tests)


@needs_compiler
@pytest.mark.parametrize(
    "source",
    [
        PAIR,
        "struct L { int *m; __device__ void lock() { while (atomicExch(m, 1)) ; __threadfence(); }\n"
        "  __device__ void unlock() { __threadfence(); atomicExch(m, 0); } };\n",
        "class L { int m; public: L() : m(0) {}\n __device__ void acquire() { while (atomicExch(&m, 1)) ;"
        " __threadfence(); }\n"
        "  __device__ void release() { __threadfence(); atomicExch(&m, 0); } };\n",
        "__device__ int m = 1;\n__device__ bool try_lock() { if (atomicCAS(&m, 1, 0) != 1) return false;"
        " __threadfence(); return true; }\n__device__ void unlock() { __threadfence(); atomicExch(&m, 1); }\n",
        "__global__ void k(int *m, int *data, int n) {\n  if (threadIdx.x < n) for (bool done = false; !done; )\n"
        "    if (atomicCAS(m, 0, 1) == 0) { done = true; __threadfence(); /* critical section */ __threadfence();"
        " atomicExch(m, 0); }\n}\n",
        "__device__ unsigned take(unsigned *next, volatile unsigned *now) { unsigned t = atomicAdd(next, 1u);\n"
        "  while (*now != t) ; __threadfence(); return t; }\n"
        "__device__ void give(volatile unsigned *now, unsigned t) { __threadfence(); *now = t + 1; }\n",
        "template <typename T> __device__ void lock(T *m) { while (atomicCAS(m, 0, 1)) ; __threadfence(); }\n"
        "template <typename T> __device__ void unlock(T *m) { __threadfence(); atomicExch(m, 0); }\n",
        "#include <stdio.h>\n#include <cuda_runtime.h>\n" + PAIR + 'int main() { cudaMalloc(0, 1); printf("lock"); }\n',
        "__device__ void lock(int *m) { int r; do { asm volatile(\"atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;\" : "
        "\"=r\"(r) : \"l\"(m) : \"memory\"); } while (r); }\n"
        "__device__ void unlock(int *m) { asm volatile(\"st.release.gpu.global.b32 [%0], 0;\""
        " :: \"l\"(m) : \"memory\"); }\n",
        "__device__ void lock(unsigned long long *m) { while (atomicCAS(m, 0ull, 1ull)) ; __threadfence(); }\n"
        "__device__ void unlock(unsigned long long *m) { __threadfence(); atomicExch(m, 0ull); }\n",
        "struct L { int owner; __device__ void lock() { int me = threadIdx.x + blockIdx.x * blockDim.x + 1;\n"
        " while (atomicCAS(&owner, 0, me)) ; __threadfence(); }\n __device__ void unlock() { __threadfence(); "
        "atomicExch(&owner, 0); } };\n",
    ],
    ids=["functions", "struct", "class", "try", "kernel", "ticket", "template", "host", "asm", "wide", "owner"],
)  # fmt: skip
def test_cuda_c_in_many_forms(source: str) -> None:
    lock = read_lock(source, "mine.cu")
    assert right(lock)
    fenceless = source.replace("__threadfence();", "").replace("acquire.gpu", "relaxed.gpu")
    assert not right(read_lock(fenceless, "mine.cu"))


def test_ptx_functions() -> None:
    assert right(read_lock(PTX.replace("FENCE", "membar.gl;"), "mine.ptx"))
    assert not right(read_lock(PTX.replace("FENCE", ""), "mine.ptx"))


def test_descriptions() -> None:
    lock = read_lock(DESCRIPTION, "mine.lock")
    assert right(lock) and lock.turns[0].held == {"lock": 0}
    assert not right(read_lock(DESCRIPTION.replace("    fence.acq_rel.gpu\n", "", 1), "mine.lock"))
    assert not right(read_lock(DESCRIPTION.replace("acq_rel.gpu", "acq_rel.cta"), "mine.lock"))


@needs_compiler
def test_a_lock_in_shared_memory_is_asked_about_one_cta() -> None:
    source = "__shared__ int m;\n" + PAIR.replace("int *m", "").replace("(m", "(&m")
    lock = read_lock(source, "mine.cu")
    assert {case.setting.placement for case in list_cases(lock)} == {ThreadPlacement.WARP, ThreadPlacement.CTA}
    assert right(lock)


@needs_compiler
@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("", "mine.cu: ", "the file is empty"),
        ("__device__ void f(int *m) { *m = 1; }\n", "mine.cu: ", "no lock found: no device function acquires the lock"),
        (PAIR + "__device__ void lock2(int *m) { *m = 1; }\n", "mine.cu:3:17: ", "several functions acquire the lock"),
        (PAIR.replace("atomicCAS(m, 0, 1)", "atomicCAS(m, 5, 6) != 7"), "mine.cu:1:17: ", "this lock never acquires"),
        (PAIR.replace("__threadfence();", "\n  __syncthreads();", 1), "mine.cu:2:3: ", "unsupported instruction `bar"),
        (PAIR.replace("while (", "while ("[:-1], 1), "mine.cu:1:1: ", "the compiler reports: "),
        ("#include <nowhere.h>\n" + PAIR, "mine.cu:1:1: ", "-I FOLDER"),
        ("// critical section\n" + PAIR, "mine.cu:1:1: ", "is not in a device function"),
        ("__device__ void f() {\n// critical section\n// critical section\n}", "mine.cu:3:1: ", "a second critical"),
    ],
)  # fmt: skip
def test_bad_cuda_c(source: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_lock(source, "mine.cu")
    assert str(error.value).startswith(place + "error: ") and message in str(error.value)


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("lock a\nvariables lock\nacquire:\n  membar.gl\n", "mine.lock: ", "the `release:` section is missing"),
        ("lock a\nfrob\n", "mine.lock:2:1: ", "unknown word `frob`"),
        ("lock a\nvariables 3\n", "mine.lock:2:11: ", "is not a variable"),
        (DESCRIPTION.replace("bra again", "bra agian"), "mine.lock:6:5: ", "did you mean 'again'?"),
        (DESCRIPTION.replace("atom.exch", "atom.swap"), "mine.lock:10:5: ", "unsupported instruction"),
        (DESCRIPTION.replace("setp.ne p, r0", "setp.ne p, r9"), "mine.lock:5:5: ", "register r9 is used before"),
        (DESCRIPTION + "acquire:\n", "mine.lock:11:1: ", "a second `acquire:`"),
        (DESCRIPTION.replace("fence.acq_rel.gpu", "fence.acq_rel"), "mine.lock:7:5: ", "fence needs a scope"),
    ],
)
def test_bad_descriptions(source: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        LockJudge(("ptx-6.0",)).judge([read_lock(source, "mine.lock")])
    assert str(error.value).startswith(place + "error: ") and message in str(error.value)


def test_names_that_are_no_locks() -> None:
    with pytest.raises(InputError, match="unknown lock 'he-yu-spinlok'"):
        load_lock("he-yu-spinlok")
    with pytest.raises(InputError, match="cannot be read"):
        load_lock("nowhere.cu")


@needs_compiler
@pytest.mark.parametrize("name", ["x", "r1", "final", "P0"])
def test_variables_may_have_any_name(name: str) -> None:
    source = PAIR.replace("*m", f"*{name}").replace("(m", f"({name}")
    assert right(read_lock(source, "my lock é.cu"))


@needs_compiler
def test_functions_can_be_named() -> None:
    source = PAIR.replace("lock(", "grab(", 1).replace("unlock(", "drop(")
    with pytest.raises(InputError, match="no lock found"):
        read_lock(source, "mine.cu")
    assert right(read_lock(source, "mine.cu", Reading(("grab", "drop"))))
    with pytest.raises(InputError, match="no device function grub"):
        read_lock(source, "mine.cu", Reading(("grub", "drop")))


def test_a_huge_file_is_looked_through_in_no_time() -> None:
    assert list(find_device_functions("a " * 200_000 + "((" * 50_000 + "x::" * 50_000)) == []


@needs_compiler
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("he-yu-spinlock", {RemarkKind.PLAIN_RELEASE: "*lockAddr = 0;"}),
        ("he-yu-spinlock-fixed", {}),
        ("he-yu-counter", {RemarkKind.NOT_RELEASED: "if (flag == marked)"}),
        ("cuda-by-example-fixed", {RemarkKind.HANGS_WARP: "while (atomicCAS(mutex, 0, 1) != 0)"}),
        ("ticket", {RemarkKind.HANGS_WARP: "while (*(volatile unsigned int *)&serving != ticket)"}),
    ],
)
def test_remarks(name: str, kinds: dict[RemarkKind, str]) -> None:
    """A spinlock that hangs a warp is one whose critical section stands behind the loop that waits."""
    lock = load_lock(name)
    lines = lock.program.source.split("\n")
    assert {remark.kind: lines[remark.line - 1].strip() for remark in find_remarks(lock)} == kinds
