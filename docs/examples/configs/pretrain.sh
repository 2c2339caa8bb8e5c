#!/bin/bash
# Megatron-LM: 7 billion parameters on 8 nodes of 8 GPUs, tensor groups of 2, pipelines of 4 with two chunks per rank.
export CUDA_DEVICE_MAX_CONNECTIONS=1
NNODES=8
GPUS=8
TP=2
PP=4

MODEL_ARGS=(
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008
    --num-attention-heads 32
    --seq-length 4096 --max-position-embeddings 4096
    --swiglu --position-embedding-type rope --normalization RMSNorm
    --disable-bias-linear --untie-embeddings-and-output-weights
    --vocab-size 32000
)

PARALLEL_ARGS="--tensor-model-parallel-size $TP --sequence-parallel \
    --pipeline-model-parallel-size ${PP} --num-layers-per-virtual-pipeline-stage 4 \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"

torchrun --nproc_per_node "$GPUS" --nnodes $NNODES --rdzv_endpoint "$HEAD:29500" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" $PARALLEL_ARGS \
    --micro-batch-size 1 --global-batch-size ${GLOBAL_BATCH:-256} \
    --bf16 --lr 3e-4 --train-iters 100000 \
    --data-path "$DATA" --save "$SAVE"   # checkpoints
