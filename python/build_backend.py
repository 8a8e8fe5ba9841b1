"""The build backend: scikit-build-core's, with source archives that hold what the package takes from the repository, and
the requirements of the models' dictionary."""
from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
from typing import Any, List

from scikit_build_core import build as backend
from scikit_build_core.build import (  # noqa: F401: the hooks of PEP 517
    build_editable, build_wheel, get_requires_for_build_editable, get_requires_for_build_sdist,
    prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel)

PARTS = ("CMakeLists.txt", "LICENSE", "NOTICE", "cmake", "include", "src", "tools/plain_header.sh")
PROGRAM = ("CHANGELOG.md", "tools/abi.txt")             # for the package with the program
OTHER = ("cli", "serve")                                # parts of src that the models do not need
JIEBA = "/usr/lib/python3/dist-packages/jieba/dict.txt"         # of Debian's python3-jieba


def get_requires_for_build_wheel(config_settings: Any = None) -> List[str]:
    """jieba has the words of the dictionary in the models' wheel."""
    words = ["jieba"] if pathlib.Path("words.c").exists() and not os.path.exists(JIEBA) else []
    return list(backend.get_requires_for_build_wheel(config_settings)) + words


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """An archive of this folder and, in its folder library, of the parts of the repository."""
    here, out = pathlib.Path.cwd(), os.path.abspath(sdist_directory)
    if (here / "library").is_dir():         # made from such an archive
        return str(backend.build_sdist(out, config_settings))
    root = next(p for p in here.parents if (p / "include" / "roformer").is_dir())
    models = here.name == "models"
    parts = PARTS + (("models",) if models else PROGRAM)
    with tempfile.TemporaryDirectory() as work:
        for file in here.iterdir():
            if file.is_file():
                shutil.copy(file, work)
        if (here / "src").is_dir():
            shutil.copytree(here / "src", work + "/src", ignore=shutil.ignore_patterns("__pycache__"))
        for part in parts:
            source, to = root / part, pathlib.Path(work, "library", part)
            to.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, to, ignore=shutil.ignore_patterns(*(OTHER if models and part == "src" else ())))
            else:
                shutil.copy(source, to)
        project = pathlib.Path(work, "pyproject.toml")
        project.write_text(project.read_text().replace(os.path.relpath(root, here) + "/", "library/"))
        os.chdir(work)
        try:
            return str(backend.build_sdist(out, config_settings))
        finally:
            os.chdir(here)
