/* hook_array.c: CUDA arrays and mipmapped arrays.
 *
 * Their size is computed from the descriptor: the driver tells it only for arrays without memory of
 * their own (deferred mapping, sparse), which are recorded with size 0. What the driver really takes
 * is somewhat more, for its alignment.
 */
#include "record/hook.h"

/* Bits of one element, all channels. */
static uint64_t element_bits(CUarray_format format, unsigned channels)
{
	static const uint8_t fixed[256] = {/* formats whose number of channels is part of the format */
					   [0xc0] = 8, [0xc1] = 16, [0xc2] = 32, [0xc3] = 16, [0xc4] = 32,
					   [0xc5] = 64, [0xc6] = 8, [0xc7] = 16, [0xc8] = 32, [0xc9] = 16,
					   [0xca] = 32, [0xcb] = 64,
					   /* block compressed */
					   [0x91] = 4, [0x92] = 4, [0x93] = 8, [0x94] = 8, [0x95] = 8, [0x96] = 8,
					   [0x97] = 4, [0x98] = 4, [0x99] = 8, [0x9a] = 8, [0x9b] = 8, [0x9c] = 8,
					   [0x9d] = 8, [0x9e] = 8,
					   /* planar and packed YUV */
					   [0xb0] = 12, [0x9f] = 24, [0xa1] = 24, [0xa2] = 16, [0xa3] = 32,
					   [0xa4] = 32, [0xa5] = 16, [0xa6] = 32, [0xa7] = 32, [0xa8] = 32,
					   [0xa9] = 32, [0xb1] = 64, [0xb2] = 24, [0xb3] = 48, [0xb4] = 24,
					   [0xb5] = 48, [0x50] = 32};
	unsigned f = (unsigned)format;

	if (f < 256 && fixed[f])
		return fixed[f];
	switch (f) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 8u * channels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 16u * channels;
	default:
		return 32u * channels;
	}
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

/* Bytes of `levels` mip levels, each half as large; layers (in the depth) stay. */
static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	uint64_t bits = element_bits(d->Format, d->NumChannels), bytes = 0;
	bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
	unsigned l;

	if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return 0;
	for (l = 0; l < levels && l < 64; l++) {
		uint64_t w = at_least_one(d->Width >> l), h = at_least_one(d->Height >> l);
		uint64_t depth = layered ? at_least_one(d->Depth) : at_least_one(d->Depth >> l);

		bytes += (w * h * depth * bits + 7) / 8;
	}
	return bytes;
}

static void got(struct rec_site site, CUresult r, uint64_t handle, uint64_t bytes)
{
	rec_got(site, r, (struct rec_about){.kind = GMS_K_ARRAY, .addr = handle, .size = bytes});
}

HOOK cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUresult r = REAL(cuArrayCreate_v2)(array, d);
	CUDA_ARRAY3D_DESCRIPTOR full = {0};

	if (d) {
		full.Width = d->Width;
		full.Height = d->Height;
		full.Format = d->Format;
		full.NumChannels = d->NumChannels;
	}
	got(REC_SITE, r, r ? 0 : (uintptr_t)*array, array_bytes(&full, 1));
	return r;
}

HOOK cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	CUresult r = REAL(cuArray3DCreate_v2)(array, d);

	got(REC_SITE, r, r ? 0 : (uintptr_t)*array, d ? array_bytes(d, 1) : 0);
	return r;
}

HOOK cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	CUresult r = REAL(cuMipmappedArrayCreate)(array, d, levels);

	got(REC_SITE, r, r ? 0 : (uintptr_t)*array, d ? array_bytes(d, levels) : 0);
	return r;
}

HOOK cuArrayDestroy(CUarray array)
{
	struct rec_about a = {.kind = GMS_K_ARRAY, .addr = (uintptr_t)array};
	CUresult r;

	rec_giving(REC_SITE, a);
	r = REAL(cuArrayDestroy)(array);
	rec_gave(REC_SITE, r, a);
	return r;
}

HOOK cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	struct rec_about a = {.kind = GMS_K_ARRAY, .addr = (uintptr_t)array};
	CUresult r;

	rec_giving(REC_SITE, a);
	r = REAL(cuMipmappedArrayDestroy)(array);
	rec_gave(REC_SITE, r, a);
	return r;
}
