"""Toy programs that stand for a cluster: workers with steps that read and write named variables."""

from itertools import count

from mockkube.explore.interleavings.accesses import Accesses
from mockkube.explore.interleavings.schedule import PlayedSchedule, PlayedStep
from mockkube.explore.interleavings.schedule_player import PlayedWindow


class ToyPlayer:
    """Plays schedules of programs; a program is a list of (reads, writes), and each write stores all that was read."""

    def __init__(self, programs):
        self.programs = programs
        self.outcomes = set()
        self.played = 0

    def play_all(self, schedules, usual=None, *, with_details=False):
        return [self.play(schedule) for schedule in schedules]

    def play(self, schedule):
        self.played += 1
        positions, memory, steps = dict.fromkeys(self.programs, 0), {}, []
        for number in count():
            ready = [name for name, program in self.programs.items() if positions[name] < len(program)]
            if not ready:
                break
            worker = schedule.workers[number] if number < len(schedule.workers) else ready[0]
            if worker not in ready:
                return PlayedWindow(PlayedSchedule(schedule, tuple(steps), is_possible=False), {})
            reads, writes = self.programs[worker][positions[worker]]
            value = (worker, positions[worker], tuple(memory.get(name) for name in reads))
            memory.update(dict.fromkeys(writes, value))
            positions[worker] += 1
            steps.append(PlayedStep(worker, 0.0, Accesses(set(reads), set(writes)), tuple(ready)))
        self.outcomes.add(tuple(sorted(memory.items())))
        return PlayedWindow(PlayedSchedule(schedule, tuple(steps)), {})
