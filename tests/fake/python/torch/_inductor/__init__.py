"""torch._inductor of the stand-in: a large part that PyTorch imports when somebody looks at it."""
