"""Points on a PyTorch device, such as a GPU.

`device` resolves what users ask for, `tensors` validates what they pass, and `store` is what the
loop of Algorithm 2 sees.
"""
