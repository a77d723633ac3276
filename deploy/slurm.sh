#!/usr/bin/env bash
# A training on four machines under Slurm, one process for each socket: sbatch deploy/slurm.sh RECIPE RUN
#SBATCH --job-name=heed
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --requeue # after a machine has failed, the job starts again and goes on from the last checkpoint
#SBATCH --open-mode=append
set -euo pipefail
recipe=$1
run=$2 # on a file system that all machines see

export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
# Processes that share a model stand on one machine; the machines share the batch.
srun --mpi=pmix --cpu-bind=cores heed train "$recipe" --out "$run" --mesh batch:4,model:2 --resume
