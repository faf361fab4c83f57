"""A class that starts at once: python tests/bench_hub.py [CHECKOUT] [--students 30] [--seconds 60]

Starts JupyterHub with the configuration of a checkout of the course (where it has none, with
JupyterHub's own) and lets all students begin at the same moment: server, course by nbgitpuller,
lesson 1, all cells, drag a live view with ten questions a second, answer an exercise, save.
Prints for each step how long after the click it was done, the latency of the view in the drag,
the memory and the time of the processors that it took, and what failed. A student's share is
what the processes below the hub grew by; memory is PSS: what is shared counts once.

It needs helpers/classroom/jupyterhub.txt, and for more than ten students the proxy of Node.js,
configurable-http-proxy, first in PATH (see README.md there). Ends with code 1 if something failed.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from itertools import cycle, takewhile
from pathlib import Path
from statistics import median, quantiles

import psutil
from hub import CONFIG, Student, hub, publish
from lab import ROOT

LESSON = "01_dot_products.ipynb"
VIEW, CONTROL = "def move_one", "x1"
VALUES = [x / 10 for x in (*range(-30, 30), *range(30, -30, -1))]
EXERCISE, STUB, ANSWER = 'check("scores"', "...  # your code here", "return inputs @ inputs[i]"


def during(seconds, values):
    end = time.monotonic() + seconds
    return takewhile(lambda _: time.monotonic() < end, values)


def below(process):
    return [process, *process.children(recursive=True)]


def memory(processes):
    """MB"""
    return sum(p.memory_full_info().pss for p in processes) / 2**20


def seconds_of_cpu(process):
    return sum(sum(p.cpu_times()[:4]) for p in below(process))


async def work(student, repository, seconds, everybody):
    """Everything that a student does. Returns {step: seconds since the click}, [latencies]."""
    click, done = time.monotonic(), {}

    def now(step, when=None):
        done[step] = (when or time.monotonic()) - click

    await student.log_in()
    now("server")
    await student.pull(repository)
    now("course")
    await student.open(LESSON)
    now("kernel")
    now("first output", await student.run_all())
    now("all cells")
    await everybody()
    values = during(seconds, cycle(VALUES))
    latencies = await student.drag(student.cell(VIEW), CONTROL, values)
    cell = student.cell(EXERCISE)
    cell.source = cell.source.replace(STUB, ANSWER)
    await student.run(cell)
    assert "right" in str(cell.outputs), cell.outputs
    await student.save()
    student.pid = int(await student.value("__import__('os').getpid()"))
    return done, latencies


async def measure(checkout, number, seconds):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        repository = publish(checkout, folder / "course")
        config = checkout / CONFIG
        async with hub(folder, config if config.exists() else None, repository) as running:
            process = psutil.Process(running.process.pid)
            base, cpu = memory(below(process)), seconds_of_cpu(process)
            left, all_ran = number, asyncio.Event()
            used = []

            async def everybody():
                nonlocal left
                left -= 1
                if not left:
                    used.append(seconds_of_cpu(process) - cpu)
                    all_ran.set()
                await all_ran.wait()

            async def one(student):
                nonlocal left
                try:
                    return await work(student, repository, seconds, everybody)
                except Exception as error:
                    await everybody() if not all_ran.is_set() else None
                    return f"{student.name}: {type(error).__name__}: {error}"

            students = [Student(running, f"s{k:02}") for k in range(number)]
            results = await asyncio.gather(*map(one, students))
            total = memory(below(process))
            kernels = [memory([psutil.Process(s.pid)]) for s in students if hasattr(s, "pid")]
            report(results, used[0] / number, base, total, kernels, number)
    return any(isinstance(result, str) for result in results)


def report(results, cpu, base, total, kernels, number):
    failed = [result for result in results if isinstance(result, str)]
    good = [result for result in results if not isinstance(result, str)]
    print(f"{len(failed)} of {number} students failed", *failed, sep="\n  ")
    if len(good) < 2:
        return
    print(f"\n{'seconds after the click':<28}{'median':>8}{'95 %':>8}")
    for step in good[0][0]:
        line(step, [done[step] for done, _ in good], 1)
    print(f"\n{'milliseconds of the view':<28}{'median':>8}{'95 %':>8}")
    line("question to picture", [1000 * t for _, latencies in good for t in latencies], 0)
    print(f"\nprocessor, seconds a student until all cells ran {cpu:.1f}")
    share = (total - base) / number
    print(
        f"memory, MB: kernel {median(kernels):.0f}, server {share - sum(kernels) / number:.0f}, "
        f"a student {share:.0f}; hub alone {base:.0f}, all {total:.0f}"
    )


def line(what, values, digits):
    high = quantiles(values, n=20, method="inclusive")[-1]
    print(f"{what:<28}{median(values):>8.{digits}f}{high:>8.{digits}f}")


def main():
    parser = argparse.ArgumentParser(description="A class that starts at once.")
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=60, help="of the drag")
    options = parser.parse_args()
    print("load before", *os.getloadavg())
    return asyncio.run(measure(options.checkout.resolve(), options.students, options.seconds))


if __name__ == "__main__":
    sys.exit(main())
