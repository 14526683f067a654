"""Layer parallelism: placement, distributed models, stages."""
