// Textures, surfaces and a vector store.
extern "C" __global__ void texture(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *out) {
    out[threadIdx.x] = tex2D<float4>(t, threadIdx.x, 1.0f);
    surf2Dwrite(1, s, 4, 5);
}
