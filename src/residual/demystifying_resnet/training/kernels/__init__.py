"""The fused kernel (fused.c): forward and backward through all layers at once, block by block of samples."""
