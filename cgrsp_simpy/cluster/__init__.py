"""Multi-GPU clusters: gang scheduling, placement on nodes, fragmentation and starvation.

Source: "Reducing Fragmentation and Starvation in GPU Clusters through Dynamic Multi-Objective Scheduling", cited as
cluster-schedulers.txt.
"""
