/* graph.c: graphs with memory nodes.
 *
 * The address of an allocation node is fixed when the node is added; memory is behind it from the
 * moment a launch gets to the node until a free node, cuMemFree or cuMemFreeAsync gives it back. That
 * memory comes from one graph pool per device, which takes 32 MiB at a time, and keeps what it once
 * took, and calls it used, until it is trimmed.
 * Nodes run in the order in which they were added, which any order of dependencies allows.
 */
#include <stdlib.h>

#include "simcuda/graph.h"

/* --- the graph pool ------------------------------------------------------------------------- */

enum { POOL_STEP = 32 * 1024 * 1024 };

/* Whole steps; where the device has less than that, whatever is needed. */
static CUresult pool_take(int device, uint64_t size)
{
	struct graph_pool *p = &sim.device[device].graph;
	uint64_t live = p->live + size, step = sim_round(live, POOL_STEP);

	if (step > p->reserved && sim_charge(device, step - p->reserved))
		p->reserved = step;
	if (live > p->reserved) {
		if (!sim_charge(device, live - p->reserved))
			return CUDA_ERROR_OUT_OF_MEMORY;
		p->reserved = live;
	}
	p->live = live;
	if (p->reserved_high < p->reserved)
		p->reserved_high = p->reserved;
	if (p->used_high < p->reserved)
		p->used_high = p->reserved;
	return CUDA_SUCCESS;
}

static CUresult mem_begin(struct graph_mem *m)
{
	struct range *r = m->range;
	CUresult result;

	if (m->live)
		return CUDA_ERROR_INVALID_VALUE;
	result = pool_take(r->device, r->size);
	if (result != CUDA_SUCCESS)
		return result;
	r->backing = sim_backing_new(-1, r->size);
	if (!r->backing) {
		sim.device[r->device].graph.live -= r->size;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->bytes = m->bytes;
	m->live = true;
	return CUDA_SUCCESS;
}

CUresult sim_graph_mem_free(struct range *r)
{
	struct graph_mem *m = r->graph_mem;

	sim.device[r->device].graph.live -= r->size;
	sim_backing_drop(r->backing);
	r->backing = NULL;
	r->bytes = 0;
	m->live = false;
	if (!m->holders) {
		sim_range_free(r);
		free(m);
	}
	return CUDA_SUCCESS;
}

static void mem_drop(struct graph_mem *m)
{
	if (--m->holders || m->live)
		return;
	sim_range_free(m->range);
	free(m);
}

CUresult cuDeviceGraphMemTrim(CUdevice dev)
{
	struct graph_pool *p;
	uint64_t keep;

	SIM_ENTER(cuDeviceGraphMemTrim);
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	p = &sim.device[dev].graph;
	keep = sim_round(p->live, POOL_STEP);
	if (keep < p->reserved) {
		sim_refund(dev, p->reserved - keep);
		p->reserved = keep;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attribute, void *value)
{
	const struct graph_pool *p;

	SIM_ENTER(cuDeviceGetGraphMemAttribute);
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || (unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	p = &sim.device[dev].graph;
	*(cuuint64_t *)value = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH       ? p->used_high
	                       : attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH ? p->reserved_high
	                                                                          : p->reserved;
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attribute, void *value)
{
	struct graph_pool *p;

	SIM_ENTER(cuDeviceSetGraphMemAttribute);
	if (!sim_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || *(cuuint64_t *)value)
		return CUDA_ERROR_INVALID_VALUE;
	p = &sim.device[dev].graph;
	if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
		p->used_high = p->reserved;
	else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		p->reserved_high = p->reserved;
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* --- graphs and nodes ----------------------------------------------------------------------- */

struct graph *sim_graph_new(enum handle_kind kind)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (!g || !sim_handle_add(g, kind)) {
		free(g);
		return NULL;
	}
	g->end = &g->first;
	return g;
}

void sim_graph_end(struct graph *g)
{
	while (g->first) {
		struct node *n = g->first;

		g->first = n->next;
		if (n->mem)
			mem_drop(n->mem);
		sim_handle_drop(n);
		free(n);
	}
	sim_handle_drop(g);
	free(g);
}

static struct node *node_add(struct graph *g, CUgraphNodeType type)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n || !sim_handle_add(n, HANDLE_NODE)) {
		free(n);
		return NULL;
	}
	n->type = type;
	n->graph = g;
	*g->end = n;
	g->end = &n->next;
	return n;
}

static struct graph *graph_of(CUgraph handle)
{
	return sim_handle_is(handle, HANDLE_GRAPH) ? (struct graph *)handle : NULL;
}

CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
	SIM_ENTER(cuGraphCreate);
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUgraph)sim_graph_new(HANDLE_GRAPH);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph handle)
{
	SIM_ENTER(cuGraphDestroy);
	if (!graph_of(handle))
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_end(graph_of(handle));
	return CUDA_SUCCESS;
}

/* Is this a graph, and are these nodes? Dependencies are only checked: the order of adding keeps them. */
static bool may_add(CUgraph handle, const CUgraphNode *after, size_t count, const CUgraphNode *out)
{
	if (!out || !graph_of(handle) || (!after && count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!sim_handle_is(after[i], HANDLE_NODE))
			return false;
	return true;
}

static CUresult add(struct graph *g, CUgraphNodeType type, CUgraphNode *out)
{
	*out = (CUgraphNode)node_add(g, type);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_graph_alloc(struct graph *g, int device, uint64_t bytes, CUdeviceptr *at, CUgraphNode *out)
{
	struct graph_mem *m = calloc(1, sizeof(*m));
	struct node *n;

	if (m)
		m->range = sim_range_new(RANGE_GRAPH, bytes);
	n = m && m->range ? node_add(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC) : NULL;
	if (!n) {
		if (m && m->range)
			sim_range_free(m->range);
		free(m);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->range->device = device;
	m->range->graph_mem = m;
	m->bytes = bytes;
	m->holders = 1;
	n->mem = m;
	*at = m->range->base;
	*out = (CUgraphNode)n;
	return CUDA_SUCCESS;
}

CUresult sim_graph_free(struct graph *g, CUdeviceptr addr, CUgraphNode *out)
{
	const struct range *r = sim_range_at(addr);
	CUresult result;

	if (!r || r->kind != RANGE_GRAPH || r->base != addr)
		return CUDA_ERROR_INVALID_VALUE;
	result = add(g, CU_GRAPH_NODE_TYPE_MEM_FREE, out);
	if (result == CUDA_SUCCESS)
		((struct node *)*out)->free = addr;
	return result;
}

CUresult sim_graph_job(struct graph *g, CUgraphNodeType type, const struct job *job, CUgraphNode *out)
{
	CUresult result = job->bad;

	if (result == CUDA_SUCCESS)
		result = add(g, type, out);
	if (result == CUDA_SUCCESS)
		((struct node *)*out)->job = *job;
	return result;
}

CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count)
{
	SIM_ENTER(cuGraphAddEmptyNode);
	if (!may_add(graph, after, count, out))
		return CUDA_ERROR_INVALID_VALUE;
	return add(graph_of(graph), CU_GRAPH_NODE_TYPE_EMPTY, out);
}

static CUresult alloc_node(CUgraphNode *out, CUgraph graph, const CUmemPoolProps *props, size_t bytes,
                           CUdeviceptr *at)
{
	if (!bytes || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !sim_device_ok(props->location.id))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_graph_alloc(graph_of(graph), props->location.id, bytes, at, out);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	SIM_ENTER(cuGraphAddMemAllocNode);
	if (!params || !may_add(graph, after, count, out))
		return CUDA_ERROR_INVALID_VALUE;
	return alloc_node(out, graph, &params->poolProps, params->bytesize, &params->dptr);
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                               CUdeviceptr addr)
{
	SIM_ENTER(cuGraphAddMemFreeNode);
	if (!may_add(graph, after, count, out))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_graph_free(graph_of(graph), addr, out);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	struct job job;

	SIM_ENTER(cuGraphAddMemsetNode);
	(void)ctx;
	if (!may_add(graph, after, count, out) || !p ||
	    (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
		return CUDA_ERROR_INVALID_VALUE;
	job = sim_job_fill(p->dst, p->pitch, p->value, p->elementSize, p->width, p->height);
	return sim_graph_job(graph_of(graph), CU_GRAPH_NODE_TYPE_MEMSET, &job, out);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_MEMCPY3D *copy, CUcontext ctx)
{
	struct job job;

	SIM_ENTER(cuGraphAddMemcpyNode);
	(void)ctx;
	if (!may_add(graph, after, count, out))
		return CUDA_ERROR_INVALID_VALUE;
	job = sim_job_copy_3d(copy);
	return sim_graph_job(graph_of(graph), CU_GRAPH_NODE_TYPE_MEMCPY, &job, out);
}

#if CUDA_VERSION >= 12020
static CUresult any_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                         CUgraphNodeParams *p)
{
	if (!p || !may_add(graph, after, count, out))
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)p->type) {
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return add(graph_of(graph), CU_GRAPH_NODE_TYPE_EMPTY, out);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return alloc_node(out, graph, &p->alloc.poolProps, p->alloc.bytesize, &p->alloc.dptr);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return sim_graph_free(graph_of(graph), p->free.dptr, out);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                        CUgraphNodeParams *params)
{
	SIM_ENTER(cuGraphAddNode);
	return any_node(out, graph, after, count, params);
}
#endif

#if CUDA_VERSION >= 12030
CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
	SIM_ENTER(cuGraphAddNode_v2);
	(void)edges;
	return any_node(out, graph, after, count, params);
}
#endif

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
	SIM_ENTER(cuGraphNodeGetType);
	if (!type || !sim_handle_is(handle, HANDLE_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	*type = ((struct node *)handle)->type;
	return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr *addr)
{
	SIM_ENTER(cuGraphMemFreeNodeGetParams);
	if (!addr || !sim_handle_is(handle, HANDLE_NODE) ||
	    ((struct node *)handle)->type != CU_GRAPH_NODE_TYPE_MEM_FREE)
		return CUDA_ERROR_INVALID_VALUE;
	*addr = ((struct node *)handle)->free;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
	struct graph *g;
	size_t total = 0;

	SIM_ENTER(cuGraphGetNodes);
	g = graph_of(handle);
	if (!g || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct node *n = g->first; n; n = n->next, total++)
		if (nodes && total < *count)
			nodes[total] = (CUgraphNode)n;
	if (!nodes || total < *count)
		*count = total;
	return CUDA_SUCCESS;
}

/* --- executables ---------------------------------------------------------------------------- */

static bool has_memory(const struct graph *g)
{
	for (const struct node *n = g->first; n; n = n->next)
		if (n->mem)
			return true;
	return false;
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
	const struct graph *g = graph_of(handle);
	struct graph *e;

	if (!out || !g)
		return CUDA_ERROR_INVALID_VALUE;
	/* A graph that owns memory has one executable at a time: its addresses are its own. */
	for (const struct node *n = g->first; n && has_memory(g); n = n->next)
		if (n->mem && n->mem->holders > 1)
			return CUDA_ERROR_NOT_SUPPORTED;
	e = sim_graph_new(HANDLE_EXEC);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->executable = true;
	e->auto_free = flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
	for (const struct node *n = g->first; n; n = n->next) {
		struct node *copy = node_add(e, n->type);

		if (!copy) {
			sim_graph_end(e);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		copy->mem = n->mem;
		copy->free = n->free;
		copy->job = n->job;
		if (copy->mem)
			copy->mem->holders++;
	}
	*out = (CUgraphExec)e;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *error, char *log, size_t size)
{
	SIM_ENTER(cuGraphInstantiate);
	(void)error;
	if (log && size)
		*log = '\0';
	return instantiate(out, graph, 0);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error, char *log, size_t size)
{
	return cuGraphInstantiate(out, graph, error, log, size);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
	SIM_ENTER(cuGraphInstantiateWithFlags);
	return instantiate(out, graph, flags);
}

#if CUDA_VERSION >= 12000
CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	SIM_ENTER(cuGraphInstantiateWithParams);
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	params->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return instantiate(out, graph, params->flags);
}
#endif

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
	SIM_ENTER(cuGraphExecDestroy);
	if (!sim_handle_is(handle, HANDLE_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	sim_graph_end((struct graph *)handle);
	return CUDA_SUCCESS;
}

static CUresult node_run(struct node *n)
{
	struct range *r;

	switch ((int)n->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return mem_begin(n->mem);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		r = sim_range_at(n->free);
		if (!r || r->kind != RANGE_GRAPH || !r->graph_mem->live)
			return CUDA_ERROR_INVALID_VALUE;
		return sim_graph_mem_free(r);
	case CU_GRAPH_NODE_TYPE_MEMSET:
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return sim_job_run(&n->job);
	default:
		return CUDA_SUCCESS;
	}
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream)
{
	struct graph *e = (struct graph *)handle;
	CUresult result = CUDA_SUCCESS;

	SIM_ENTER(cuGraphLaunch);
	SIM_STREAM(s, stream);
	if (!sim_handle_is(handle, HANDLE_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	for (struct node *n = e->first; n; n = n->next)
		if (n->mem && n->mem->live) {
			if (!e->auto_free)
				return CUDA_ERROR_INVALID_VALUE;
			sim_graph_mem_free(n->mem->range);
		}
	for (struct node *n = e->first; n && result == CUDA_SUCCESS; n = n->next)
		result = node_run(n);
	sim_stream_work(s);
	return result;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream)
{
	SIM_ENTER(cuGraphUpload);
	SIM_STREAM(s, stream);
	(void)s;
	return sim_handle_is(handle, HANDLE_EXEC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
