"""`python -m foldline`: the program, where no `foldline` is on the path. It is in cli/main.py."""

from foldline.cli.main import main

if __name__ == "__main__":
    main()
