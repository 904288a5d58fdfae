/* sampler.h: while a program is recorded, NVML is asked what it and others use of the devices.
 *
 * The recorded process cannot know what its context and code take, nor who else is there; its parent can.
 * Samples are taken at a bounded rate and kept where something changed.
 */
#ifndef CLI_SAMPLER_H
#define CLI_SAMPLER_H

#include "model/model.h"

struct sampler;
struct sampler *sampler_new(void); /* asks nothing yet */
/* Take a sample if it is time for one; `now`: in any case. */
void sampler_look(struct sampler *s, bool now);
/* Put the samples of this recording's devices and time into its model, as PROCESS rows. Before model_link. */
void sampler_add(const struct sampler *s, struct model *m);
void sampler_free(struct sampler *s);

#endif
