"use strict";
(() => {
  const STEP = 50;
  const OUTCOMES = ["hit", "miss", "error"];
  // Characters that are invisible, change the writing direction, or are half of a surrogate pair.
  const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff]|[\ud800-\udfff]/u;
  const WORD = /[\p{L}\p{M}\p{N}]*/uy;

  const data = JSON.parse(document.getElementById("reply-data").textContent);
  const { columns } = data;
  const total = columns.text.length;
  const lowered = data.texts.map((text) => text.toLowerCase());
  const askedLowered = data.asked.map(([, concepts]) => concepts.join(" ").toLowerCase());
  const runNames = data.runs.map(([model, condition, shots]) => `${model} ${condition}${shots ? ` ${shots}-shot` : ""}`);

  const filters = document.getElementById("filters");
  const list = document.getElementById("list");
  const more = document.getElementById("more");
  const status = document.getElementById("found");
  let matches = [];
  let shown = 0;

  const element = (tag, className, ...children) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...children);
    return made;
  };

  const visible = (text) => {
    const parts = [];
    let plain = "";
    for (const character of text) {
      if (!CONTROL.test(character)) {
        plain += character;
        continue;
      }
      const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      parts.push(plain, element("span", "control", `U+${code}`));
      plain = "";
    }
    return [...parts, plain];
  };

  const foundWords = (text, found) => {
    const numbers = new Map();
    found.forEach((offsets, place) => {
      for (const start of offsets) {
        if (start < text.length) numbers.set(start, [...(numbers.get(start) ?? []), place + 1]);
      }
    });
    return [...numbers].sort(([one], [other]) => one - other);
  };

  const highlighted = (text, found) => {
    const parts = [];
    let end = 0;
    for (const [start, numbers] of foundWords(text, found)) {
      if (start < end) continue;
      WORD.lastIndex = start;
      const word = WORD.exec(text)?.[0] ?? "";
      parts.push(...visible(text.slice(end, start)));
      parts.push(element("mark", "", element("sup", "", numbers.join(",")), ...visible(word)));
      end = start + word.length;
    }
    return [...parts, ...visible(text.slice(end))];
  };

  const askedFor = (concepts, found, broken) =>
    concepts.map((concept, place) => {
      const number = element("sup", "", String(place + 1));
      const name = element("i", "", ...visible(concept));
      if (found && found[place].length === 0) return element("span", "absent", number, name, " missing");
      return element("span", "", number, name, place === broken ? ", order breaks here" : "");
    });

  const item = (place) => {
    const outcome = OUTCOMES[columns.outcome[place]];
    const [pattern, concepts] = data.asked[columns.asked[place]];
    const text = data.texts[columns.text[place]];
    const found =
      outcome === "error"
        ? null
        : columns.found[place].split("|").map((offsets) => (offsets ? offsets.split(",").map(Number) : []));
    const cut = data.longest !== null && text.length >= data.longest ? " … (cut here; the full text is in generations.jsonl)" : "";
    const head = [
      element("b", "", outcome),
      element("span", "", ...visible(runNames[columns.run[place]])),
      element("span", "", `template ${columns.template[place]}`),
      element("span", "", ...visible(pattern)),
    ];
    return element(
      "li",
      outcome,
      element("p", "head", ...head),
      element("p", "asked", ...askedFor(concepts, found, columns.break[place])),
      element("p", "reply", ...(found ? highlighted(text, found) : visible(`no reply: ${text}`)), cut),
    );
  };

  const showMore = () => {
    const next = matches.slice(shown, shown + STEP);
    shown += next.length;
    list.append(...next.map(item));
    more.hidden = shown === matches.length;
  };

  const select = () => {
    const { search, outcome, run, pattern, template } = Object.fromEntries(new FormData(filters));
    const wanted = search.trim().toLowerCase();
    const inTexts = lowered.map((text) => text.includes(wanted));
    const inAsked = askedLowered.map((concepts) => concepts.includes(wanted));
    matches = [];
    for (let place = 0; place < total; place += 1) {
      const asked = columns.asked[place];
      if (
        (outcome === "" || columns.outcome[place] === Number(outcome)) &&
        (run === "" || columns.run[place] === Number(run)) &&
        (pattern === "" || data.asked[asked][0] === pattern) &&
        (template === "" || columns.template[place] === Number(template)) &&
        (inTexts[columns.text[place]] || inAsked[asked])
      ) {
        matches.push(place);
      }
    }
    status.textContent = `${matches.length.toLocaleString("en")} of ${total.toLocaleString("en")} cases`;
    list.replaceChildren();
    shown = 0;
    showMore();
  };

  const offer = (name, choices) => {
    for (const [value, label] of choices) {
      const printed = element("i", "", ...visible(String(label))).textContent;
      filters.elements[name].append(new Option(printed, value));
    }
  };

  const numbered = (names) => names.map((name, number) => [number, name]);
  const same = (values) => [...new Set(values)].sort().map((value) => [value, value]);
  offer("outcome", numbered(OUTCOMES));
  offer("run", numbered(runNames));
  offer("pattern", same(data.asked.map(([pattern]) => pattern)));
  offer("template", same(columns.template));

  let waiting = 0;
  filters.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(select, 120);
  });
  filters.addEventListener("reset", () => setTimeout(select));
  filters.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", showMore);
  new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && showMore()).observe(more);
  document.getElementById("no-script").hidden = true;
  filters.hidden = false;
  select();
})();
