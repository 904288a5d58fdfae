"""man_outputs.py PAGE.txt: run the examples of a manual page and compare what is printed with what the page shows.

PAGE.txt has the examples as plain text: "$ command", then lines of output. Spaces and line breaks do not
matter, "..." stands for anything left out, and what no two runs share (times, rates and how well they fit, process ids,
and the numbers of an account, which is of the moment that was sampled) is not compared. Prints each difference; the exit status says if there is one.
"""
import re
import subprocess
import sys


def blocks(path):
    command, lines = None, []
    for line in open(path, encoding="utf-8"):
        if line.startswith("$ "):
            if command:
                yield command, lines
            command, lines = line[2:].strip(), []
        elif command:
            lines.append(line.rstrip("\n"))
    if command:
        yield command, lines


def plain(text, numbers):
    text = text.replace("…", "...")
    text = re.sub(r"\b[\d.]+ [mµn]?s\b", "TIME", text)
    text = re.sub(r"\b[\d.]+ [KMG]iB/s", "RATE", text)
    text = re.sub(r"(?m)^(\s+\d+)\s+\d{2,7}\s+(?=[\d.]+ [KMG]?i?B)", r"\1 PID ", text)
    text = re.sub(r"\b0\.\d\d  ", "FIT ", text)
    if not numbers:
        text = re.sub(r"[\d.,]+( [KMG]?i?B| %)?(?= |$|\n)", "", text)
    return text.split()


def holds(output, shown):
    """Do the pieces of `shown` between "..." stand in `output`, in this order? Else the first that does not."""
    at = 0
    piece = []
    for token in shown + ["..."]:
        if not token.endswith("..."):
            piece.append(token)
            continue
        for i in range(at, len(output) - len(piece) + 1):
            if output[i : i + len(piece)] == piece:
                at = i + len(piece)
                break
        else:
            return piece
        piece = []
    return None


wrong = False
for command, lines in blocks(sys.argv[1]):
    if "# not run" in command:
        continue
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    numbers = "--accounting" not in command
    missing = holds(plain(run.stdout, numbers), plain("\n".join(lines), numbers))
    if missing is not None:
        wrong = True
        print("$ " + command, "the page shows:", " ".join(missing), "it printed:", run.stdout, run.stderr, sep="\n")
sys.exit(wrong)
