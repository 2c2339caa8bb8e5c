"""On what a profile was measured: processor, GPU, driver, clocks, library versions, load."""

import os
import re
import subprocess

import torch

MAKERS = {"nvidia", "tesla", "geforce", "quadro", "amd", "radeon", "instinct", "intel", "cpu", "processor", "graphics", "with"}
CLOCKS = {"driver_version": "driver", "clocks.sm": "sm_clock", "clocks.max.sm": "sm_clock_max", "clocks.mem": "memory_clock",
          "power.draw": "power", "power.limit": "power_limit", "temperature.gpu": "temperature", "memory.total": "memory"}


def cpu_name():
    """The processor, as the kernel names it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            facts = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", file.read(), re.M))
        return f"{facts['model name']} (family {facts['cpu family']}, model {facts['model']})"
    except (OSError, KeyError):
        return os.uname().machine


def device_name(device):
    """What the trace names the device."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{cpu_name()}, {torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}"


def short_name(device):
    """The device in a file's name."""
    return shortened(device_name(device) if device.type == "cuda" else cpu_name()) or device.type


def shortened(name):
    """A device's name up to its number: NVIDIA H100 80GB HBM3 is h100, GeForce RTX 3090 Ti is rtx3090ti."""
    name = re.sub(r"\((r|tm)\)", " ", re.split(r" \(family|@", name)[0].lower())
    words = [word for word in re.findall(r"[a-z0-9]+", name) if word not in MAKERS]
    number = next((place for place, word in enumerate(words) if re.search(r"\d", word)), len(words))
    return "".join(words[:number + 1] + [word for word in words[number + 1:number + 2] if word in ("ti", "super")])


def gpu_facts(device, work):
    """What nvidia-smi says of the GPU while it works (clocks fall within milliseconds of idling)."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    index = visible[device.index or 0] if visible != [""] else str(device.index or 0)
    command = ["nvidia-smi", "-i", index, f"--query-gpu={','.join(CLOCKS)}", "--format=csv,noheader"]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            while process.poll() is None:
                work()
            values = process.stdout.read().strip().split(", ")
    except OSError:
        return {}
    return dict(zip(CLOCKS.values(), values)) if len(values) == len(CLOCKS) else {}


def machine_facts(device, work):
    """Provenance beside the device's name: texts and numbers by key."""
    if device.type == "cpu":
        load = os.getloadavg()[0]
        return {"cores": os.cpu_count(), "threads": torch.get_num_threads(), "load": round(load, 2)}
    peak = torch.cuda.max_memory_allocated(device)
    return {**gpu_facts(device, work), "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
            "memory_used": f"{peak / 2**20:.0f} MiB"}


def is_shared(facts):
    """Whether others were computing on this CPU: its load in the last minute is well above what we cause."""
    return "load" in facts and facts["load"] > facts["threads"] + 0.5
