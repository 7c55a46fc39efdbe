"""DAGs on GPUs: graphs whose nodes start when their predecessors' data have arrived, and schedulers that place the nodes.

Source: "Efficient Scheduling for GPU-Based Neural Network Training via Hybrid Reinforcement Learning and Metaheuristic
Optimization", cited as worl-rtgs.txt.
"""
