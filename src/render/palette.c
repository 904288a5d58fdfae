/* palette.c: the colours, made in the OKLCH space so that equal numbers look equally light. */
#include "render/palette.h"
#include "base/hash.h"
#include <math.h>
#include <string.h>

static uint32_t channel(double linear)
{
	double v = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;

	return v <= 0 ? 0 : v >= 1 ? 255 : (uint32_t)(v * 255 + 0.5);
}

/* Lightness 0–1, chroma, hue in degrees → 0xrrggbb (Ottosson's OKLab). */
static uint32_t oklch(double light, double chroma, double hue)
{
	double a = chroma * cos(hue * 3.14159265358979 / 180), b = chroma * sin(hue * 3.14159265358979 / 180);
	double l = light + 0.3963377774 * a + 0.2158037573 * b;
	double m = light - 0.1055613458 * a - 0.0638541728 * b;
	double s = light - 0.0894841775 * a - 1.2914855480 * b;

	l = l * l * l, m = m * m * m, s = s * s * s;
	return channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) << 16 |
	       channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) << 8 |
	       channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
}

static void make_codes(struct palette *p)
{
	static const struct {
		double light, chroma, hue;
	} base[CODES] = {
	    [CODE_YOURS] = {.79, .125, 62},    [CODE_PYTHON] = {.92, .085, 98},
	    [CODE_NATIVE] = {.84, .058, 250},  [CODE_CUDA] = {.86, .075, 165},
	    [CODE_UNKNOWN] = {.88, .008, 260},
	};

	for (int c = 0; c < CODES; c++)
		for (int k = 0; k < PALETTE_SHADES; k++) {
			double light = base[c].light - .018 * (k - 1.5), hue = base[c].hue + 3.5 * (k - 1.5);
			if (p->dark)
				light -= .40;
			p->code[c][k] = oklch(light, base[c].chroma * (p->dark ? .85 : 1), hue);
		}
}

void palette_make(struct palette *p, bool dark)
{
	*p = dark ? (struct palette){.dark = true,
	                             .page = 0x15181d,
	                             .ink = 0xe8eaed,
	                             .frame = 0x7d8590,
	                             .grid = 0x2b3038,
	                             .rest = 0x5d6670,
	                             .unknown = 0x7a808a,
	                             .merged = 0x4a515b,
	                             .empty = 0x2a2f37,
	                             .alarm = 0xff6b5e,
	                             .limit = 0xff9d8f,
	                             .reserved = 0xd5dae0,
	                             .device = 0x9fb4d8}
	          : (struct palette){.page = 0xffffff,
	                             .ink = 0x1b1f24,
	                             .frame = 0x6e7781,
	                             .grid = 0xe4e7eb,
	                             .rest = 0xccd1d8,
	                             .unknown = 0x97a0ad,
	                             .merged = 0xdce0e5,
	                             .empty = 0xeceef1,
	                             .alarm = 0xc8102e,
	                             .limit = 0xb42318,
	                             .reserved = 0x30363d,
	                             .device = 0x3d5a94};
	make_codes(p);
}

uint32_t palette_shade(const char *name)
{
	return (uint32_t)(hash_bytes(name, strlen(name)) % PALETTE_SHADES);
}

uint32_t palette_code(const struct palette *p, enum code code, const char *name)
{
	return p->code[code][palette_shade(name)];
}

/* Chosen by search for the largest least distance in OKLab, seen normally and with protanopia,
 * deuteranopia and tritanopia; ordered so that neighbours differ in lightness. */
static const uint32_t category[PALETTE_CATEGORIES] = {0x15b3ef, 0xc46c0e, 0x67edbd, 0x9b3564,
                                                      0xffc577, 0x166396, 0xed83b5, 0x029674,
                                                      0xc5caff, 0x695f02, 0x9bb43f, 0x956bc6};

uint32_t palette_category(uint32_t n)
{
	uint32_t rgb = category[n % PALETTE_CATEGORIES];
	uint32_t tier = n / PALETTE_CATEGORIES % 3;

	return tier == 1 ? palette_mix(rgb, 0xffffff, 45) : tier == 2 ? palette_mix(rgb, 0x000000, 35) : rgb;
}

uint32_t palette_phase(const struct palette *p, const char *name)
{
	return palette_mix(palette_category((uint32_t)(hash_bytes(name, strlen(name)) % PALETTE_CATEGORIES)),
	                   p->page, 55);
}

uint32_t palette_stack(const struct palette *p, const struct rank *r, uint32_t stack)
{
	uint32_t place = rank_of(r, stack);

	if (!stack)
		return p->unknown;
	/* Beyond the ranking a stack has one of the weaker colours, by chance but always the same. */
	return palette_category(
	    place != RANK_NONE ? place
	                       : PALETTE_CATEGORIES + (uint32_t)(hash_u64(stack) % (2 * PALETTE_CATEGORIES)));
}

uint32_t palette_change(const struct palette *p, int step)
{
	uint32_t end = step > 0 ? (p->dark ? 0xe8503f : 0xc9301f) : p->dark ? 0x4c9bf0 : 0x1f66b0;
	int k = step < 0 ? -step : step;

	return palette_mix(p->dark ? 0x3b424c : 0xe6e8eb, end, k * 100 / PALETTE_STEPS);
}

uint32_t palette_mix(uint32_t from, uint32_t to, int percent)
{
	uint32_t out = 0;

	for (int shift = 0; shift < 24; shift += 8) {
		int a = (int)(from >> shift & 255), b = (int)(to >> shift & 255);
		out |= (uint32_t)(a + (b - a) * percent / 100) << shift;
	}
	return out;
}

static double linear(uint32_t v)
{
	double s = v / 255.0;

	return s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
}

uint32_t palette_ink_on(uint32_t rgb)
{
	double y = 0.2126 * linear(rgb >> 16) + 0.7152 * linear(rgb >> 8 & 255) + 0.0722 * linear(rgb & 255);

	/* WCAG contrast: (lighter + .05) / (darker + .05) */
	return (y + 0.05) / 0.06 > 1.05 / (y + 0.05) ? 0x14171a : 0xffffff;
}
