"""HGSP: weighted tardiness of tasks on GPUs of different speed and memory, and LLM inference requests on a cluster.

Source: "Heterogeneous GPU Scheduling", cited as hgsp.txt.
"""
