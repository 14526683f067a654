"""Tensors: element types, devices, data, and arrays tagged with a device."""
