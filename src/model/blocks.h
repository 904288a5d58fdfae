/* blocks.h: how large the blocks were that a caching allocator handed out.
 *
 * PyTorch's trace tells the bytes requested and the address of a block, not its size. But the
 * allocator always hands out the beginning of a free block, and whether it splits off the rest is
 * a fixed rule; so a replay of the addresses gives every size. It is believed only if nothing in
 * the recording contradicts it: all or nothing per device.
 *
 * For readers of framework traces, after the initial rows are in place and before model_link.
 */
#ifndef MODEL_BLOCKS_H
#define MODEL_BLOCKS_H

#include "model/model.h"

/* Fill the slack column of BLOCK.alloc rows where the size of the block can be known, and compare
 * the TRACE.info rows (checksums of active bytes) with the result. True: on every device all events
 * follow from each other and lead to the final state; then, if the recording is of such events
 * alone, the peers are known too and the model is linked. `tell`: what does not fit becomes notes. */
bool blocks_recover(struct model *m, bool tell);

#endif
