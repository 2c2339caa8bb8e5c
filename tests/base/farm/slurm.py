"""A Slurm of this machine alone, for tests: a controller and two nodes on loopback, without accounts, munge or systemd."""

import os
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
KillWait=1
MinJobAge=10
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
PropagateResourceLimits=NONE
MaxArraySize={most_tasks}
NodeName=one NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cpus} State=UNKNOWN
NodeName=two NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=one,two Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    """Ports of loopback that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class CannotStart(Exception):
    """Why Slurm does not run here."""


class Slurm:
    """Started at once; stop() ends it."""

    def __init__(self, folder, most_tasks=101, cpus=1):
        self.folder = folder
        self.processes = {}
        # Debian has the daemons in /usr/sbin, where not every user's PATH leads.
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        missing = [name for name in PROGRAMS if shutil.which(name, path=self.environment["PATH"]) is None]
        if missing:
            raise CannotStart(f"no {', '.join(missing)} (tools/setup.sh --with cluster)")
        if os.geteuid() != 0:
            raise CannotStart("slurmd starts jobs as root only")
        (folder / "state").mkdir()
        # cpus: Slurm takes what it is told, and not what the machine has.
        (folder / "slurm.conf").write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], ports=free_ports(3), user="root", folder=folder,
                                                                most_tasks=most_tasks, cpus=cpus), encoding="utf-8")
        try:
            self.start_controller()
            for node in ("one", "two"):
                self.start(node, "slurmd", "-D", "-N", node)
            self.wait_for(lambda: self.command("sinfo", "--noheader", "--format=%T %D").stdout.split() == ["idle", "2"], 30, "its nodes do not come up")
            probe = self.command("sbatch", "--wait", "--output=/dev/null", "--wrap=true", timeout=30)
            if probe.returncode != 0:
                raise CannotStart(f"a job fails: {probe.stderr.strip()[:300]}")
        except CannotStart as error:
            said = self.logs()
            self.stop()
            raise CannotStart(f"Slurm does not run here: {error}; {said}") from error
        except subprocess.TimeoutExpired as error:
            self.stop()
            raise CannotStart(f"Slurm does not run here: {error}") from error
        except BaseException:
            self.stop()
            raise

    def start(self, name, *command):
        with open(self.folder / f"{name}.out", "ab") as log:
            self.processes[name] = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def start_controller(self):
        self.start("slurmctld", "slurmctld", "-D")

    def stop_controller(self):
        self.processes["slurmctld"].terminate()
        self.processes["slurmctld"].wait(timeout=30)

    def command(self, *words, timeout=20):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False, timeout=timeout, cwd=self.folder)

    def wait_for(self, what, seconds, complaint):
        for _ in range(seconds * 20):
            if what():
                return
            if any(process.poll() is not None for process in self.processes.values()):
                break
            time.sleep(0.05)
        else:
            raise CannotStart(f"{complaint} in {seconds} s")
        raise CannotStart("a daemon ended")

    def logs(self):
        """The last complaint of each daemon, in one line."""
        lines = []
        for log in sorted(self.folder.glob("slurm*.log")):
            errors = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if "error:" in line or "fatal:" in line]
            lines += [f"{log.name}: {errors[-1].split(']', 1)[-1].strip()}"] if errors else []
        return "; ".join(lines) or "its logs hold no error"

    def stop(self):
        """Jobs first, then daemons: by their own ids, and in bounded time."""
        try:
            self.command("scancel", "--me", "--signal=KILL", "--full", timeout=5)
            self.command("scancel", "--me", timeout=5)
            for _ in range(40):
                if not self.command("squeue", "--noheader", timeout=5).stdout.strip():
                    break
                time.sleep(0.05)
        except (subprocess.TimeoutExpired, OSError):
            pass
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
