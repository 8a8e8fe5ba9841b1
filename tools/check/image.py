"""image.py DOCKERFILE ROOT — does what a Dockerfile says without a container engine: each stage is a Debian root below ROOT, RUN
lines are executed in it by chroot, COPY copies. Prints the last stage's folder and its settings as shell variables.

Understands what deploy/Dockerfile uses: FROM debian:SUITE-slim [AS NAME], RUN, COPY [--from=NAME], ENV, USER, ENTRYPOINT, CMD."""
import json
import os
import shlex
import shutil
import subprocess
import sys


def lines(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.strip()
            if line and not line.startswith("#"):
                word, _, rest = line.partition(" ")
                yield word, rest.strip()


def mirror():
    """The archive that this machine's apt uses."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
                             capture_output=True, text=True, check=True).stdout.split()
    return targets[0]


def base(root, suite):
    """A fresh copy of a small Debian, made once."""
    kept = os.path.join(root, f"debian-{suite}.tar")
    if not os.path.exists(kept):
        first = os.path.join(root, "first")
        shutil.rmtree(first, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", suite, first, mirror()], check=True, stdout=subprocess.DEVNULL)
        for name in ("etc/apt/sources.list", "etc/apt/sources.list.d", "etc/apt/apt.conf.d", "etc/apt/trusted.gpg.d",
                     "usr/share/keyrings", "etc/ssl/certs"):      # so that apt in it reaches what apt here reaches
            if os.path.isdir("/" + name):
                shutil.copytree("/" + name, os.path.join(first, name), dirs_exist_ok=True, symlinks=True)
            elif os.path.exists("/" + name):
                shutil.copy("/" + name, os.path.join(first, name))
        subprocess.run(["tar", "-C", first, "-cf", kept + ".part", "."], check=True)
        os.rename(kept + ".part", kept)
        shutil.rmtree(first)
    return kept


def run(folder, command, environment):
    """In a mount namespace of its own, with the kernel's file systems and this machine's names. Of the environment it has, as from an
    engine, the proxies alone."""
    kept = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    script = 'mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev" && mount -t tmpfs none "$0/tmp" && ' \
             'cp /etc/resolv.conf "$0/etc/resolv.conf" && exec chroot "$0" /bin/sh -c "$1"'
    subprocess.run(["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, folder, command], check=True,
                   env={"PATH": path, "DEBIAN_FRONTEND": "noninteractive", **kept, **environment}, stdout=sys.stderr)


def copy(context, stages, folder, rest):
    words = rest.split()
    where = context
    if words[0].startswith("--from="):
        where = stages[words.pop(0)[7:]]
    source, target = os.path.join(where, words[0].lstrip("/")), os.path.join(folder, words[1].lstrip("/"))
    if os.path.isdir(source):
        files = subprocess.run(["git", "-C", source, "ls-files", "-z"], check=True, capture_output=True).stdout if where == context else None
        if files is None:
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:                                             # what is committed or added, as .dockerignore leaves it
            os.makedirs(target)
            subprocess.run(["cpio", "-0pdm", "--quiet", target], cwd=source, input=files, check=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(source, target)


def main():
    dockerfile, root = sys.argv[1:3]
    context, stages, environment, settings, folder = os.getcwd(), {}, {}, {}, None
    os.makedirs(root, exist_ok=True)
    for word, rest in lines(dockerfile):
        print(f"image: {word} {rest[:100]}", file=sys.stderr)
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            suite = image.split(":")[1].removesuffix("-slim")
            folder, environment, settings = os.path.join(root, name or "last"), {}, {}
            stages[name or "last"] = folder
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            subprocess.run(["tar", "-C", folder, "-xf", base(root, suite)], check=True)
        elif word == "RUN":
            run(folder, rest, environment)
        elif word == "COPY":
            copy(context, stages, folder, rest)
        elif word == "ENV":
            environment.update([rest.split("=", 1)])
        elif word in ("USER", "ENTRYPOINT", "CMD", "HEALTHCHECK"):
            settings[word] = rest
        elif word not in ("EXPOSE", "STOPSIGNAL"):
            sys.exit(f"image: {word} is not understood")
    health = json.loads(settings["HEALTHCHECK"].split(" CMD ", 1)[1])
    print(f"image={shlex.quote(folder)}")
    print(f"user={settings['USER']}")
    print(f"environment={shlex.quote(' '.join(f'{k}={v}' for k, v in environment.items()))}")
    print(f"command={shlex.quote(shlex.join(json.loads(settings['ENTRYPOINT']) + json.loads(settings['CMD'])))}")
    print(f"health={shlex.quote(shlex.join(health))}")


main()
