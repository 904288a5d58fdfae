/* graph.h: what graph.c, which builds and runs graphs, and capture.c, which records them, share. */
#ifndef SIMCUDA_GRAPH_H
#define SIMCUDA_GRAPH_H

#include "simcuda/sim.h"

/* An allocation node's memory; the graph and each executable made from it hold it. */
struct graph_mem {
	struct range *range;
	uint64_t bytes;
	unsigned holders;
	bool live;
};

struct node {
	CUgraphNodeType type;
	struct graph *graph;
	struct graph_mem *mem; /* MEM_ALLOC */
	CUdeviceptr free;      /* MEM_FREE */
	struct job job;        /* MEMSET, MEMCPY */
	struct node *next;
};

struct graph {
	struct node *first, **end;
	bool executable; /* this is a CUgraphExec */
	bool auto_free;
};

struct graph *sim_graph_new(enum handle_kind kind);
void sim_graph_end(struct graph *graph);
/* Add a node for which the caller has checked everything but memory. */
CUresult sim_graph_alloc(struct graph *graph, int device, uint64_t bytes, CUdeviceptr *at, CUgraphNode *out);
CUresult sim_graph_free(struct graph *graph, CUdeviceptr addr, CUgraphNode *out);
CUresult sim_graph_job(struct graph *graph, CUgraphNodeType type, const struct job *job, CUgraphNode *out);

#endif
