"use strict";
// Text of strangers enters the page by textContent alone: it is never parsed as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const make = (tag, text, name) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
};
const quiet = new Set(data.quiet);
const families = [...new Set(data.clauses.map((clause) => clause[0].slice(0, 3)))];
const look = { pass: "good", unsupported: "none", skip: "none", "": "none", xfail: "known", flaky: "known", fail: "", stale: "", overclaim: "", underclaim: "", bleed: "" };
const chip = (tag, verdict, text) => make(tag, text, "chip " + (verdict in look ? look[verdict] : "fault"));

const byClause = data.results.map((results) => {
  const found = new Map();
  for (const result of results) for (const clause of result[2]) {
    if (!found.has(clause)) found.set(clause, []);
    found.get(clause).push(result);
  }
  return found;
});
const caseText = new Map();
for (const found of byClause) for (const [clause, results] of found) {
  const text = results.map((result) => result[0]).join(" ");
  caseText.set(clause, (caseText.get(clause) || "") + " " + text);
}
const texts = data.clauses.map(([id, title]) => `${id} ${title} ${caseText.get(id) || ""}`.toLowerCase());

for (const subject of data.subjects) {
  const line = make("span");
  line.append(make("b", subject.name), " ");
  line.append(Object.entries(subject.counts).map(([verdict, count]) => `${count} ${verdict}`).join(", "));
  if (subject.restarts) line.append(`, ${subject.restarts} restarts`);
  if (!subject.ended) line.append(" (the run did not end)");
  at("subjects").append(line);
}
for (const [name, verdict, about, message] of data.findings) {
  const line = make("span");
  line.append(chip("span", verdict, verdict), ` ${name}: ${about}: ${message}`);
  at("subjects").append(line);
}
for (const family of families) at("chapter").append(new Option(family, family));
for (const truth of [...new Set(data.clauses.map((clause) => clause[2]))]) at("truth").append(new Option(truth, truth));
const verdicts = [...new Set(data.cells.flatMap((cells) => Object.values(cells)))].sort();
for (const verdict of verdicts) at("verdict").append(new Option(verdict, verdict));

let open = null;
const rows = [];
const head = make("thead").appendChild(make("tr"));
head.append(make("th", "clause"));
for (const subject of data.subjects) head.append(make("th", subject.name));
at("matrix").append(head.parentNode);
const body = make("tbody");
data.clauses.forEach(([id, title, truth, , excused], index) => {
  const row = make("tr");
  const name = make("th");
  name.scope = "row";
  name.append(make("b", id), make("span", title, "title"));
  row.append(name);
  const verdicts = data.cells.map((cells) => cells[id] || "");
  verdicts.forEach((verdict, subject) => {
    const cell = make("td", undefined, "cell");
    const all = byClause[subject].get(id) || [];
    const count = all.filter((result) => result[1] === verdict).length;
    const words = verdict ? `${verdict} ${count}${count < all.length ? ` of ${all.length}` : ""}` : excused ? "not applicable" : "not asked";
    const button = chip("button", verdict, words);
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-label", `${id}, ${data.subjects[subject].name}: ${words}`);
    button.dataset.row = index;
    button.dataset.column = subject;
    cell.append(button);
    row.append(cell);
  });
  body.append(row);
  rows.push({ row, truth, family: id.slice(0, 3), verdicts });
});
at("matrix").append(body);
const nothing = make("p", "No clause is like that.", "empty");
nothing.hidden = true;
at("matrix").after(nothing);

function filter() {
  const words = at("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [chapter, verdict, truth] = ["chapter", "verdict", "truth"].map((id) => at(id).value);
  let count = 0;
  rows.forEach((row, index) => {
    const right = words.every((word) => texts[index].includes(word))
      && (!chapter || row.family === chapter) && (!truth || row.truth === truth)
      && (!verdict || row.verdicts.some((own) => verdict === "!" ? own && !quiet.has(own) : own === verdict));
    row.row.hidden = !right;
    count += right;
  });
  nothing.hidden = count > 0;
  at("count").textContent = `${count} of ${rows.length} clauses`;
}

function field(list, name, text, tag) {
  if (text === undefined || text === null || text === "") return;
  list.append(make("dt", name));
  list.appendChild(make("dd")).append(make(tag || "span", text));
}

function caseOf([label, verdict, , why, step, difference, message, repeat]) {
  const part = make("details");
  part.open = !quiet.has(verdict);
  const line = make("summary");
  line.append(chip("span", verdict, verdict), " ", label);
  const list = make("dl");
  field(list, "catches", why);
  field(list, "step", step);
  if (difference) {
    field(list, "where", difference[0], "code");
    field(list, "expected", difference[1], "code");
    field(list, "got", difference[2], "code");
    field(list, "also", difference[3], "code");
  }
  field(list, "message", message, "code");
  field(list, "again", repeat, "code");
  part.append(line, list);
  return part;
}

function show(button) {
  if (open) open.setAttribute("aria-pressed", "false");
  open = button;
  open.setAttribute("aria-pressed", "true");
  const [id, title, truth, text, excused] = data.clauses[button.dataset.row];
  const subject = data.subjects[button.dataset.column];
  const detail = at("detail");
  const close = make("button", "close", "close");
  close.type = "button";
  close.addEventListener("click", hide);
  const results = [...(byClause[button.dataset.column].get(id) || [])];
  results.sort((one, other) => quiet.has(one[1]) - quiet.has(other[1]));
  detail.replaceChildren(close, make("h2", `${id}: ${title}`), make("div", `${subject.name} · truth: ${truth}`, "truth"), make("blockquote", text));
  if (excused) detail.append(make("p", `No case asks it: ${excused}`));
  // Ten thousand variants would take the page a second: the first ones are enough to look at.
  for (const result of results.slice(0, 200)) detail.append(caseOf(result));
  if (results.length > 200) detail.append(make("p", `and ${results.length - 200} more`));
  detail.hidden = false;
  detail.scrollTop = 0;
  history.replaceState(null, "", `#${id}`);
}

function hide() {
  at("detail").hidden = true;
  if (!open) return;
  open.setAttribute("aria-pressed", "false");
  open.focus();
  open = null;
}

const buttons = () => [...body.querySelectorAll("tr:not([hidden]) button")];

function move(key) {
  const shown = buttons();
  const here = shown.indexOf(document.activeElement);
  const wide = data.subjects.length;
  const step = { ArrowDown: wide, ArrowUp: -wide, ArrowRight: 1, ArrowLeft: -1 }[key];
  const next = shown[here < 0 ? 0 : Math.min(Math.max(here + step, 0), shown.length - 1)];
  if (next) next.focus();
  if (next && open) show(next);
}

function next() {
  const shown = buttons();
  const here = shown.indexOf(document.activeElement);
  const bad = (button) => { const own = rows[button.dataset.row].verdicts[button.dataset.column]; return own && !quiet.has(own); };
  const found = shown.slice(here + 1).find(bad) || shown.find(bad);
  if (found) { found.focus(); show(found); }
}

document.addEventListener("keydown", (event) => {
  const writing = ["INPUT", "SELECT"].includes(document.activeElement.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (!at("detail").hidden) hide(); else document.activeElement.blur();
  } else if (event.key === "/" && !writing) {
    at("search").focus();
  } else if (event.key === "n" && !writing) {
    next();
  } else if (event.key.startsWith("Arrow") && !writing && !at("detail").contains(document.activeElement)) {
    move(event.key);
  } else if (event.key === "ArrowDown" && document.activeElement === at("search")) {
    move(event.key);
  } else return;
  event.preventDefault();
});
body.addEventListener("click", (event) => { if (event.target.tagName === "BUTTON") show(event.target); });
for (const id of ["search", "chapter", "verdict", "truth"]) at(id).addEventListener("input", filter);
at("filters").addEventListener("submit", (event) => event.preventDefault());

for (const format of new Set(data.exchanges.map((one) => one[5]))) {
  const told = data.exchanges.filter((one) => one[5] === format);
  const names = [...new Set(told.flatMap(([writer, reader]) => [writer, reader]))];
  at("exchange").append(make("h2", `Files of ${format}: who reads what whom wrote`));
  const table = at("exchange").appendChild(make("table"));
  const top = table.appendChild(make("tr"));
  top.append(make("th", "writer \\ reader"), ...names.map((name) => make("th", name)));
  for (const writer of names) {
    const row = table.appendChild(make("tr"));
    row.append(make("th", writer));
    for (const reader of names) {
      const asked = told.filter((one) => one[0] === writer && one[1] === reader && one[3] !== "unsupported");
      const bad = asked.filter((one) => !quiet.has(one[3]));
      const cell = row.appendChild(make("td"));
      const verdict = bad.length ? bad[0][3] : asked.length ? "pass" : "unsupported";
      const shown = chip("span", verdict, asked.length ? `${asked.length - bad.length}/${asked.length}` : "-");
      shown.title = bad.map((one) => `${one[2]}: ${one[4]}`).join("\n");
      cell.append(shown);
    }
  }
}
filter();
const linked = data.clauses.findIndex((clause) => `#${clause[0]}` === location.hash);
if (linked >= 0) { const button = body.querySelector(`button[data-row="${linked}"]`); if (button) { show(button); button.scrollIntoView({ block: "center" }); } }
