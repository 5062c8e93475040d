"""What on this host will disturb a measurement, and what to do about it: facts in, checks out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from regress.launch.accelerators import Accelerators, Gpu
from regress.launch.activity import Activity
from regress.launch.host import Host
from regress.launch.topology import listed
from regress.record.diagnosis import Check
from regress.units import quantity, share

BUSY_CORES = 0.2
"""Cores that others keep busy, from which they count as load: on few cores they meet a rank soon."""

BUSY_SHARE = 0.02
"""The same, as a share of a large host's cores."""

WAITING = 0.1
"""Share of the time in which some process waits for a CPU, from which it counts as load."""

STOLEN = 0.01
"""Share of CPU time that other virtual machines may have."""

SWAPPED_BYTES = 64 << 20
"""What may lie in swap: pages of programs that sleep."""

SHARED_MEMORY_BYTES = 256 << 20
"""Room in ``/dev/shm`` that data loaders and NCCL want; a container has 64 MiB unless told otherwise."""

HOT_C = 85.0
"""Temperature near which GPUs begin to slow down."""

STEADY_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
"""Clock sources that are read in nanoseconds, without asking a device."""

SHOWN, SHOWN_CORES = 3, 0.05
"""The most processes that are named, and the least that such a one uses."""


def lock_check(measurements: Sequence[str]) -> Check:
    """Judge whether others measure here now."""
    if not measurements:
        return fine("measurements", "none runs")
    more = f" (and {len(measurements) - 1} more)" if len(measurements) > 1 else ""
    advice = "let it end: another waits for it, and what is said of load here counts it"
    return disturbs("measurements", f"{measurements[0]}{more}", advice)


def host_checks(host: Host, activity: Activity) -> Iterator[Check]:
    """Judge processors, memory, and what others do."""
    yield _load(activity)
    yield _cores(host, activity)
    yield _quota(host)
    yield _stolen(activity)
    yield _governor(host)
    yield _turbo(host)
    yield _threads(host)
    yield _clock(host)
    yield _balancing(host)
    yield _memory(host)
    yield _swap(host)
    yield _shared_memory(host)
    if host.hypervisor is None:
        yield unknown("virtual machine")
    elif host.hypervisor:
        yield fine("virtual machine", "yes: what its neighbours do is not seen from here")


def gpu_checks(accelerators: Accelerators) -> Iterator[Check]:
    """Judge the GPUs; nothing where there are none."""
    gpus = accelerators.gpus
    if accelerators.problem is not None:
        text = f"the NVIDIA driver names no GPU: {accelerators.problem}"
        yield Check(name="GPUs", state="wrong", text=text, advice="without it ranks run on CPU")
    if not gpus:
        return
    models = Counter(gpu.name for gpu in gpus)
    text = ", ".join(f"{number}x {name}" for name, number in sorted(models.items()))
    if len(models) > 1:
        advice = "choose equal ones with CUDA_VISIBLE_DEVICES"
        yield disturbs("GPU models", f"they differ: {text}", advice)
    else:
        yield fine("GPUs", text)
    yield from _gpu_states(gpus)


def fine(name: str, text: str) -> Check:
    """A check that found nothing wrong."""
    return Check(name=name, state="fine", text=text)


def unknown(name: str) -> Check:
    """A check for which this machine does not tell what is needed."""
    return Check(name=name, state="unknown", text="")


def disturbs(name: str, text: str, advice: str) -> Check:
    """A check that found what makes measurements noisier, or wrong."""
    return Check(name=name, state="disturbs", text=text, advice=advice)


def _load(activity: Activity) -> Check:
    name, advice = "other load", "end these programs, or measure when they have ended"
    busy, cores, waiting = activity.busy, activity.cores, activity.waiting
    if busy is None or cores is None:
        if activity.load is None:
            return unknown(name)
        text = f"{activity.load:g} programs wanted to run in the last minute"
        return disturbs(name, text, advice) if activity.load >= 1 else fine(name, text)
    text = f"others keep {busy:.1f} of {cores} cores busy"
    if busy >= max(BUSY_CORES, BUSY_SHARE * cores):
        seen = [
            f"{each.name} (pid {each.pid}) {each.cores:.1f}"
            for each in activity.processes[:SHOWN]
            if each.cores >= SHOWN_CORES
        ]
        return disturbs(name, f"{text}: {', '.join(seen) or 'who, is not seen from here'}", advice)
    if waiting is not None and waiting >= WAITING:
        text = f"in {share(round(waiting, 3))} of the last 10 s some program waited for a core"
        return disturbs(name, text, "look again in a minute: this one may have just ended")
    return fine(name, text)


def _cores(host: Host, activity: Activity) -> Check:
    usable = min(host.cores, host.quota.usable) if host.quota else host.cores
    free = usable - min(usable, round(activity.busy or 0.0))
    text = f"{free} of {usable} {'core' if usable == 1 else 'cores'} free"
    if usable < 2:
        advice = "measure one rank (world_size: [1]), or on a machine with more cores"
        return disturbs("cores", f"{text}: two ranks would share it", advice)
    if free < 2:
        advice = "end other programs: every rank needs a core of its own"
        return disturbs("cores", f"{text}: ranks would share cores with others", advice)
    return fine("cores", text)


def _quota(host: Host) -> Check:
    quota = host.quota
    if quota is None:
        return fine("CPU quota", "none")
    text = f"this container may use {quota.cores:g} cores"
    if quota.throttled:
        text += f", and had to wait in {quota.throttled} periods so far"
    if quota.cores >= len(host.cpus) and not quota.throttled:
        return fine("CPU quota", text)
    return disturbs(
        "CPU quota", text, "give it whole cores (a cpuset) in place of a quota, which stops ranks midway"
    )


def _stolen(activity: Activity) -> Check:
    name = "stolen time"
    if activity.stolen is None:
        return unknown(name)
    text = f"{share(activity.stolen)} of CPU time" if activity.stolen else "none"
    if activity.stolen >= STOLEN:
        return disturbs(name, f"{text} went to other virtual machines", "use a machine that is not shared")
    return fine(name, text)


def _governor(host: Host) -> Check:
    name, text = "CPU governor", ", ".join(host.governors)
    if not host.governors:
        return unknown(name)
    if host.governors == ("performance",):
        return fine(name, text)
    advice = "clocks follow the load; `cpupower frequency-set -g performance` (as root) keeps them up"
    return disturbs(name, text, advice)


def _turbo(host: Host) -> Check:
    if not host.turbo:
        return unknown("turbo")
    if len(host.turbo) > 1:
        return disturbs("turbo", "on for some cores and off for others", "set it alike for all cores")
    return fine("turbo", host.turbo[0])


def _threads(host: Host) -> Check:
    name = "hardware threads"
    if host.shared_cpus:
        text = f"others may use the second thread of the cores of CPUs {listed(host.shared_cpus)}"
        return disturbs(name, text, "give this container whole cores, or turn SMT off")
    if len(host.cpus) > host.cores:
        return fine(name, f"{len(host.cpus)} on {host.cores} cores; a rank gets whole cores")
    return fine(name, "one per core")


def _clock(host: Host) -> Check:
    if host.clock_source is None:
        return unknown("clock source")
    if host.clock_source in STEADY_CLOCKS:
        return fine("clock source", host.clock_source)
    advice = "reading the time is slow; see `dmesg | grep -i tsc` for why the kernel gave up on tsc"
    return disturbs("clock source", host.clock_source, advice)


def _balancing(host: Host) -> Check:
    name = "NUMA balancing"
    if host.numa_balancing is None:
        return unknown(name)
    if host.numa_balancing and (host.nodes or 1) > 1:
        text = f"on, over {host.nodes} nodes: memory of ranks is moved about"
        return disturbs(name, text, "`sysctl kernel.numa_balancing=0` (as root)")
    return fine(name, "off" if not host.numa_balancing else "on, with one node")


def _memory(host: Host) -> Check:
    available, total = host.available_bytes, host.memory_bytes
    if available is None or total is None:
        return unknown("memory")
    text = f"{quantity(available, 'B')} of {quantity(total, 'B')} available"
    if available < max(1 << 30, total // 10):
        return disturbs("memory", text, "end programs that hold it, before the kernel ends ranks")
    return fine("memory", text)


def _swap(host: Host) -> Check:
    if host.swap_used_bytes is None:
        return unknown("swap")
    if host.swap_used_bytes > SWAPPED_BYTES:
        text = f"{quantity(host.swap_used_bytes, 'B')} of memory lie on a disk"
        return disturbs("swap", text, "`swapoff -a && swapon -a` (as root) brings them back")
    return fine("swap", "not in use")


def _shared_memory(host: Host) -> Check:
    if host.shared_memory_bytes is None:
        return unknown("shared memory")
    text = f"{quantity(host.shared_memory_bytes, 'B')} free in /dev/shm"
    if host.shared_memory_bytes < SHARED_MEMORY_BYTES:
        return disturbs("shared memory", text, "start the container with `--shm-size=1g` or more")
    return fine("shared memory", text)


def _gpu_states(gpus: tuple[Gpu, ...]) -> Iterator[Check]:
    yield from _throttling(gpus)
    for gpu in gpus:
        if gpu.processes:
            seen = ", ".join(f"{each.name} (pid {each.pid})" for each in gpu.processes[:SHOWN])
            more = f" and {len(gpu.processes) - SHOWN} more" if len(gpu.processes) > SHOWN else ""
            advice = "end these programs, or choose other GPUs with CUDA_VISIBLE_DEVICES"
            yield disturbs("GPU processes", f"GPU {gpu.index} is used by {seen}{more}", advice)
    yield from _where(
        gpus, lambda gpu: bool(gpu.uncorrected_errors), "GPU memory errors",
        "uncorrected errors since the last reboot", "take it out of use and have it checked",
    )  # fmt: skip
    yield from _where(
        gpus, _is_capped, "GPU power", "the power cap is below its default",
        "`nvidia-smi -pl WATTS` (as root) sets it; leave it where all machines are set so",
    )  # fmt: skip
    yield from _where(
        gpus, lambda gpu: (gpu.temperature_c or 0.0) >= HOT_C, "GPU temperature",
        f"{HOT_C:.0f} °C or more", "let it cool down, and look after the cooling",
    )  # fmt: skip
    yield from _where(
        gpus, lambda gpu: gpu.partitioned is True, "GPU instances", "MIG is on, and others may use the rest",
        "measure where nobody uses the other instances",
    )  # fmt: skip
    yield from _where(
        gpus, lambda gpu: gpu.persistent is False, "GPU persistence",
        "the driver leaves when nobody uses the GPU, and clocks and settings with it",
        "`nvidia-smi -pm 1` (as root) keeps it",
    )  # fmt: skip
    if not any(gpu.locked for gpu in gpus):
        yield fine("GPU clocks", "not fixed; `nvidia-smi -lgc MHZ` (as root) makes steps steadier")
    elif all(gpu.locked for gpu in gpus):
        yield fine("GPU clocks", "fixed")
    else:
        yield disturbs("GPU clocks", "fixed on some GPUs only", "fix them on all, or on none")


def _throttling(gpus: tuple[Gpu, ...]) -> Iterator[Check]:
    if all(gpu.throttled_by is None for gpu in gpus):
        yield unknown("GPU throttling")
        return
    reasons = sorted({reason for gpu in gpus for reason in gpu.throttled_by or ()})
    for reason in reasons:
        slow = [gpu.index for gpu in gpus if reason in (gpu.throttled_by or ())]
        text = f"{reason} holds down the clocks of GPU {listed(slow)}"
        yield disturbs("GPU throttling", text, "look at `nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE`")
    if not reasons:
        yield fine("GPU throttling", "none")


def _where(
    gpus: tuple[Gpu, ...], found: Callable[[Gpu], bool], name: str, text: str, advice: str
) -> Iterator[Check]:
    """One check for all GPUs on which something was found; none where it was on no GPU."""
    indices = [gpu.index for gpu in gpus if found(gpu)]
    if indices:
        yield disturbs(name, f"GPU {listed(indices)}: {text}", advice)


def _is_capped(gpu: Gpu) -> bool:
    limit, default = gpu.power_limit_w, gpu.default_power_w
    return limit is not None and default is not None and limit < default - 0.5
