// What of a page is there to be run. A fence in the language `sh` holds commands, which are run in order; a fence `text`
// shows what the commands before it print: its lines have to come in that order, other lines may lie between, `...` stands
// for any part of a line. A fence `yaml` shows a part of a configuration (fragments.mjs); YAML of other kinds is `yml`. A
// comment right above a fence, which a reader of the rendered page does not see, may say
//
//     <!-- not run: WHY -->       these commands are for reading only
//     <!-- with FILE -->          the router runs with this configuration, one of deploy/ or of this folder
//     <!-- status N -->           the commands end with this exit status
//     <!-- model server -->       a server of models answers on port 8000 from here on (the double in pages.test.mjs)

const kFence = /^```(\S*)\s*$/;
const kComment = /^<!-- (.*) -->$/;
const kTold = /^(not run: .+|with \S+|status \d+|model server)$/;
const kPrograms = "signalbox|curl|cmake|echo|envoy|haproxy|npm|node|docker|kubectl|helm|promtool|systemctl|apt-get|sudo|export";
const kCommand = new RegExp(`^ {4}(\\$ |build/release/|tools/|(${kPrograms}) )`);
const kOtherShells = ["bash", "shell", "console", "zsh"];

/// {blocks, problems} of a page's text. A block is {line, language, text, told: [comment, ...]}.
export function read(page) {
  const blocks = [];
  const problems = [];
  const lines = page.split("\n");
  let told = [];
  for (let i = 0; i < lines.length; ++i) {
    const comment = kComment.exec(lines[i]);
    const fence = kFence.exec(lines[i]);
    if (comment && kTold.test(comment[1])) {
      told.push(comment[1]);
    } else if (fence) {
      const end = lines.indexOf("```", i + 1);
      if (end < 0) return { blocks, problems: [...problems, `line ${i + 1}: a fence without an end`] };
      const text = lines.slice(i + 1, end).join("\n");
      if (kOtherShells.includes(fence[1])) problems.push(`line ${i + 1}: commands are in the language sh`);
      blocks.push({ line: i + 1, language: fence[1], text, told });
      told = [];
      i = end;
    } else {
      if (told.length > 0) problems.push(`line ${i + 1}: "${told[0]}" has no fence below`);
      if (kCommand.test(lines[i])) problems.push(`line ${i + 1}: a command outside of a fence`);
      told = [];
    }
  }
  return { blocks, problems };
}

/// The first line of `shown` that `printed` does not have behind those before it, or null.
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
