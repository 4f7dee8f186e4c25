// The scenario for other uses: a file, Python, a command.

/** Python that runs the scenario. */
export function python(toml: string, seed: number): string {
  const text = toml.trimEnd().replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"');
  return `import cwndlab\n\nscenario = cwndlab.Scenario.from_toml("""\n${text}\n""")\nrecords = cwndlab.run(scenario, seed=${seed})\nprint(records.hash())\n`;
}

/** Commands for a POSIX shell that write the scenario to a file and run it. */
export function command(toml: string, seed: number): string {
  let mark = "SCENARIO";
  while (toml.split("\n").includes(mark)) mark += "_";
  return `cat > scenario.toml <<'${mark}'\n${toml.trimEnd()}\n${mark}\ncwndlab run scenario.toml --seed ${seed} --out records\n`;
}
