// Sorting and searching of ticker tables, the readout of charts, and the mark of the section in view. The page is whole without it.

(() => {
  const GRID = 1000;

  for (const table of document.querySelectorAll("table.tickers")) {
    const bodies = [...table.tBodies];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sortBy(table, bodies, heads, column));
    });
    addSearch(table, bodies);
  }

  function sortBy(table, bodies, heads, column) {
    const head = heads[column];
    // A first click puts names from A, and numbers from the largest.
    const first = column === 0 ? "ascending" : "descending";
    const other = column === 0 ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    for (const each of heads) each.setAttribute("aria-sort", each === head ? order : "none");
    const sign = order === "ascending" ? 1 : -1;
    const keyed = bodies.map((body, place) => ({ body, key: keyOf(body, column, place) }));
    keyed.sort((a, b) => {
      // What has no value comes last, either way.
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
      return sign * (a.key - b.key);
    });
    table.append(...keyed.map(({ body }) => body));
  }

  /** The page lists tickers by name: their place is their order. */
  function keyOf(body, column, place) {
    if (column === 0) return place;
    const value = body.rows[0].cells[column].dataset.v;
    return value === undefined ? null : Number(value);
  }

  function addSearch(table, bodies) {
    const line = table.closest(".table").querySelector(".search");
    const input = line.querySelector("input");
    const status = line.querySelector("[role=status]");
    const names = bodies.map((body) => body.querySelector("summary").textContent.toLowerCase());
    line.hidden = false;
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let found = 0;
      bodies.forEach((body, i) => {
        body.hidden = !names[i].includes(wanted);
        if (!body.hidden) found++;
      });
      status.textContent = wanted === "" ? "" : `${found} of ${bodies.length} tickers`;
    });
  }

  for (const chart of document.querySelectorAll("svg[data-x]")) addReadout(chart);
  markSection();

  // Whether a table goes on to the right of its box.
  const sizes = new ResizeObserver((boxes) => {
    for (const { target } of boxes) markCut(target);
  });
  for (const box of document.querySelectorAll(".scroll")) {
    sizes.observe(box);
    box.addEventListener("scroll", () => markCut(box), { passive: true });
  }

  function markCut(box) {
    box.classList.toggle("cut", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  }

  /** Marks the link of the section in view: the last one that has begun above the upper third of the window. */
  function markSection() {
    const links = new Map(
      [...document.querySelectorAll("nav a")].map((link) => [link.getAttribute("href").slice(1), link]),
    );
    const heads = [...document.querySelectorAll("h2[id]")];
    const list = document.querySelector("nav");
    let current;
    let isWaiting = false;
    const mark = () => {
      isWaiting = false;
      const begun = heads.filter((head) => head.getBoundingClientRect().top < innerHeight / 3);
      const isAtEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
      const head = isAtEnd ? heads.at(-1) : (begun.at(-1) ?? heads[0]);
      const link = head && links.get(head.id);
      if (link === undefined || link === current) return;
      current?.removeAttribute("aria-current");
      link.setAttribute("aria-current", "location");
      current = link;
      list.scrollLeft = link.offsetLeft - list.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
    };
    const markSoon = () => {
      if (isWaiting) return;
      isWaiting = true;
      requestAnimationFrame(mark);
    };
    addEventListener("scroll", markSoon, { passive: true });
    addEventListener("resize", markSoon);
    mark();
  }

  function addReadout(chart) {
    const paths = [...chart.querySelectorAll("path[data-name]")];
    const readout = document.createElement("p");
    readout.className = "readout";
    readout.setAttribute("aria-live", "polite");
    let lines;
    let cursor;
    let at;
    const show = (column) => {
      if (lines === undefined) {
        lines = paths.map((path) => ({ name: path.dataset.name, points: pointsOf(path.getAttribute("d")) }));
        cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
        cursor.setAttribute("class", "cursor");
        chart.querySelector(".marks").append(cursor);
        chart.after(readout);
      }
      const nearest = lines.map(({ points }) => nearestTo(points, column));
      at = nearest[0][0];
      cursor.setAttribute("d", `M${at} 0V${GRID}`);
      const told = lines.map(({ name }, i) => `${name} about ${valueAt(chart.dataset, nearest[i][1])}`);
      readout.textContent = `${placeAt(chart.dataset, at)}: ${told.join("; ")}`;
      place(readout, chart, at);
    };
    chart.setAttribute("tabindex", "0");
    chart.addEventListener("pointermove", (event) => {
      const { left, width } = chart.getBoundingClientRect();
      show(Math.max(0, Math.min(GRID, (GRID * (event.clientX - left)) / width)));
    });
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      if (at === undefined) show(step > 0 ? 0 : GRID);
      else show(nextColumn(lines[0].points, at, step));
    });
  }

  /** Beside the cursor, at the top of the chart; on its other side where there is more room. */
  function place(readout, chart, at) {
    const frame = chart.getBoundingClientRect();
    const within = readout.offsetParent.getBoundingClientRect();
    const cursor = frame.left - within.left + (frame.width * at) / GRID;
    const gap = 8;
    const beside = at > GRID / 2 ? cursor - gap - readout.offsetWidth : cursor + gap;
    const most = within.width - readout.offsetWidth - gap;
    readout.style.left = `${Math.max(gap, Math.min(most, beside))}px`;
    readout.style.top = `${frame.top - within.top}px`;
  }

  /** The points of a path of M and l, in grid units. */
  function pointsOf(path) {
    const points = [];
    for (const run of path.split("M").slice(1)) {
      const numbers = run.replace("h0", "").match(/-?\d+/g).map(Number);
      let [x, y] = numbers;
      points.push([x, y]);
      for (let i = 2; i < numbers.length; i += 2) {
        x += numbers[i];
        y += numbers[i + 1];
        points.push([x, y]);
      }
    }
    return points;
  }

  function nearestTo(points, column) {
    return points.reduce((best, point) =>
      Math.abs(point[0] - column) < Math.abs(best[0] - column) ? point : best,
    );
  }

  function nextColumn(points, column, step) {
    const beyond = points.filter(([x]) => step * (x - column) > 0).map(([x]) => x);
    if (beyond.length === 0) return column;
    return step > 0 ? Math.min(...beyond) : Math.max(...beyond);
  }

  function placeAt({ x, from, to }, column) {
    const place = Math.round(Number(from) + ((Number(to) - Number(from)) * column) / GRID);
    return x === "day" ? new Date(place * 86_400_000).toISOString().slice(0, 10) : `epoch ${place}`;
  }

  /** With as many digits as the grid can tell. */
  function valueAt({ low, high, symbol, signed, ...data }, row) {
    const factor = Number(data.factor);
    const span = factor * (Number(high) - Number(low));
    const value = factor * Number(low) + span * (1 - row / GRID);
    const digits = Math.max(0, Math.min(12, Math.ceil(-Math.log10(span / GRID))));
    const sign = value < 0 ? "\u2212" : signed === "true" ? "+" : "";
    return `${sign}${Math.abs(value).toFixed(digits)}${symbol === "" ? "" : `\u202f${symbol}`}`;
  }
})();
