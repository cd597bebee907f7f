// Reads the parts of a page that are to be run. A fence with the language `sh` contains commands, which run in order. A
// fence `text` shows the output of the commands before it: its lines must occur in that order, other lines may lie
// between them, and `...` stands for any part of a line. A fence `yaml` shows a part of a configuration
// (fragments.mjs); other YAML uses `yml`. A comment directly above a fence, which is invisible in the rendered page,
// can be:
//
//     <!-- not run: REASON -->    the commands are for reading only
//     <!-- with FILE -->          the router runs with this configuration, from deploy/ or from this folder
//     <!-- status N -->           the commands exit with this status
//     <!-- model server -->       from here on, a model server answers on port 8000 (the double in pages.test.mjs)

const kFence = /^```(\S*)\s*$/;
const kComment = /^<!-- (.*) -->$/;
const kDirective = /^(not run: .+|with \S+|status \d+|model server)$/;
const kPrograms = "signalbox|curl|cmake|echo|envoy|haproxy|npm|node|docker|kubectl|helm|promtool|systemctl|apt-get|sudo|export";
const kCommand = new RegExp(`^ {4}(\\$ |build/release/|tools/|(${kPrograms}) )`);
const kOtherShells = ["bash", "shell", "console", "zsh"];

/// Returns the {blocks, problems} of a page. A block is {line, language, text, directives: [comment, ...]}.
export function read(page) {
  const blocks = [];
  const problems = [];
  const lines = page.split("\n");
  let directives = [];
  for (let i = 0; i < lines.length; ++i) {
    const comment = kComment.exec(lines[i]);
    const fence = kFence.exec(lines[i]);
    if (comment && kDirective.test(comment[1])) {
      directives.push(comment[1]);
    } else if (fence) {
      const end = lines.indexOf("```", i + 1);
      if (end < 0) return { blocks, problems: [...problems, `line ${i + 1}: a fence without an end`] };
      const text = lines.slice(i + 1, end).join("\n");
      if (kOtherShells.includes(fence[1])) problems.push(`line ${i + 1}: commands are in the language sh`);
      blocks.push({ line: i + 1, language: fence[1], text, directives });
      directives = [];
      i = end;
    } else {
      if (directives.length > 0) problems.push(`line ${i + 1}: "${directives[0]}" has no fence below`);
      if (kCommand.test(lines[i])) problems.push(`line ${i + 1}: a command outside of a fence`);
      directives = [];
    }
  }
  return { blocks, problems };
}

/// Returns the first line of `shown` that `printed` does not contain after the lines before it, or null.
export function missing(shown, printed) {
  const squeeze = (line) => line.replace(/\s+/g, " ").trim();
  const rest = printed.split("\n").map(squeeze);
  for (const line of shown.split("\n").map(squeeze)) {
    if (line === "" || line === "...") continue;
    const parts = line.split("...").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const at = rest.findIndex((candidate) => new RegExp(`^${parts.join(".*")}$`).test(candidate));
    if (at < 0) return line;
    rest.splice(0, at + 1);
  }
  return null;
}
