"use strict";
// Everything that is shown comes from /status, and goes into the page as text only.
(() => {
  const PERIOD = 2000;
  const by = (id) => document.getElementById(id);
  const make = (name, className, text) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const setText = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  // Figures

  const number = (value, digits = 0) =>
    value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const bytes = (value) => {
    if (value === undefined || value === null) return "–";
    if (value < 1024) return number(value) + "\u00a0B";
    const units = ["KB", "MB", "GB", "TB"];
    let index = -1;
    do { value /= 1024; index += 1; } while (value >= 1024 && index < units.length - 1);
    return number(value, value < 9.95 ? 1 : 0) + "\u00a0" + units[index];
  };
  const seconds = (value) => {
    if (value === undefined || value === null) return "–";
    const ms = value * 1000;
    if (ms === 0) return "0";
    if (ms < 1) return number(ms, 2) + " ms";
    if (ms < 10) return number(ms, 1) + " ms";
    return ms < 1000 ? number(ms) + " ms" : number(value, 1) + " s";
  };
  const span = (value) => {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const total = Math.max(0, Math.round(value));
    for (let index = 0; index < units.length; index += 1) {
      const [size, name] = units[index];
      if (total < size && size > 1) continue;
      const next = units[index + 1];
      const rest = next ? Math.floor((total % size) / next[0]) : 0;
      return Math.floor(total / size) + " " + name + (rest && index < 2 ? " " + rest + " " + next[1] : "");
    }
    return "0 s";
  };
  const since = (time) => (Date.now() - Date.parse(time)) / 1000;
  const ago = (time) => { const s = since(time); return s < 2 ? "just now" : span(s) + " ago"; };
  const clock = (time) => new Date(time).toLocaleTimeString("en-GB");
  const many = (count, one, more) => number(count) + " " + (count === 1 ? one : more);
  const percent = (value) => number(value * 100, value < 1 && value > 0.9 ? 1 : 0) + " %";

  // Keeps the elements of a list whose subjects stay, so that frames do not load again and focus is not lost.
  const keep = (list, items, key, create, update) => {
    const old = new Map([...list.children].map((element) => [element.dataset.key, element]));
    let before = list.firstElementChild;
    for (const item of items) {
      const name = String(key(item));
      let element = old.get(name);
      if (element) old.delete(name);
      else { element = create(item); element.dataset.key = name; }
      update(element, item);
      if (element === before) before = before.nextElementSibling;
      else list.insertBefore(element, before);
    }
    for (const element of old.values()) element.remove();
  };

  // Charts

  const nice = (top) => {
    if (!(top > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(top));
    return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= top * 0.999);
  };

  class Chart {
    constructor(id, series, format, fixedTop) {
      Object.assign(this, { series, format, fixedTop, points: [], chosen: null });
      this.figure = by(id);
      this.plot = this.figure.querySelector(".plot");
      this.value = this.figure.querySelector(".value");
      this.note = this.figure.querySelector(".note");
      this.plot.addEventListener("pointermove", (event) => this.chooseAt(event.clientX));
      this.plot.addEventListener("pointerdown", (event) => this.chooseAt(event.clientX));
      this.plot.addEventListener("pointerleave", () => this.choose(null));
      this.figure.addEventListener("blur", () => this.choose(null));
      this.figure.addEventListener("keydown", (event) => {
        const last = this.points.length - 1;
        const from = this.chosen ?? last;
        const target = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: last, Escape: null }[event.key];
        if (target === undefined || last < 0) return;
        event.preventDefault();
        this.choose(target === null ? null : Math.min(last, Math.max(0, target)));
      });
      new ResizeObserver(() => this.draw()).observe(this.plot);
    }

    show(points) { this.points = points; this.draw(); }
    choose(index) { if (index !== this.chosen) { this.chosen = index; this.draw(); } }
    chooseAt(clientX) {
      if (this.points.length < 2) return;
      const box = this.plot.getBoundingClientRect();
      const share = (clientX - box.left - this.left) / (box.width - this.left - this.right);
      this.choose(Math.round(Math.min(1, Math.max(0, share)) * (this.points.length - 1)));
    }

    caption() {
      const points = this.points;
      if (this.chosen !== null && this.chosen >= points.length) this.chosen = null;
      const known = points.findLast((point) => this.series.some((one) => one.of(point) !== null));
      const point = this.chosen === null ? known : points[this.chosen];
      const first = point ? this.series[0].of(point) : null;
      setText(this.value, first === null ? "–" : this.format(first));
      // The legend: each line's colour, name and figure.
      const when = this.chosen === null || !point ? "" : " at " + clock(point.time);
      const keys = this.series.map((one, place) => {
        const value = place && point ? one.of(point) : null;
        return { name: one.name, kind: one.kind, text: one.name + (place ? (value === null ? "" : " " + this.format(value)) : when) };
      });
      keep(this.note, keys, (key) => key.name, (key) => {
        const item = make("span", "key");
        item.append(make("i", key.kind), make("span"));
        return item;
      }, (item, key) => setText(item.lastChild, key.text));
      this.figure.setAttribute("aria-label",
        this.figure.querySelector(".label").textContent + ": " + this.value.textContent + ", " +
        keys.map((key) => key.text).join(", ") + ". Arrow keys show other times.");
    }

    draw() {
      this.caption();
      const { points, plot } = this;
      const values = points.flatMap((point) => this.series.map((one) => one.of(point))).filter((value) => value !== null);
      if (points.length < 2 || values.length === 0) {
        if (!plot.querySelector(".none")) {
          plot.replaceChildren(make("p", "none"));
        }
        setText(plot.firstChild, points.length < 2 ? "Collecting the first figures…" : "Nothing was asked for yet.");
        return;
      }
      const width = plot.clientWidth, height = plot.clientHeight;
      if (width < 80) return;
      const top = this.fixedTop ?? nice(Math.max(...values));
      const left = this.left = 46, right = this.right = 6, high = 8, low = 22;
      const x = (index) => left + (index / (points.length - 1)) * (width - left - right);
      const y = (value) => high + (1 - value / top) * (height - high - low);
      const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
      for (const share of [0, 0.5, 1]) {
        const at = y(top * share);
        root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }));
        root.append(svg("text", { class: "axis", x: left - 8, y: at + 4, "text-anchor": "end" }, this.format(top * share)));
      }
      const past = (Date.parse(points.at(-1).time) - Date.parse(points[0].time)) / 1000;
      root.append(svg("text", { class: "axis", x: left, y: height - 4 }, span(past) + " ago"));
      root.append(svg("text", { class: "axis", x: width - right, y: height - 4, "text-anchor": "end" }, "now"));
      [...this.series].reverse().forEach((one) => {
        const two = one.kind ? " " + one.kind : "";
        for (const run of this.runs(one)) {
          const path = run.map((index, place) => (place ? "L" : "M") + x(index).toFixed(1) + " " + y(Math.min(top, one.of(points[index]))).toFixed(1)).join("");
          if (!two && run.length > 1) {
            root.append(svg("path", { class: "area", d: `${path}L${x(run.at(-1)).toFixed(1)} ${y(0)}L${x(run[0]).toFixed(1)} ${y(0)}Z` }));
          }
          if (run.length > 1) root.append(svg("path", { class: "line" + two, d: path }));
          else root.append(svg("circle", { class: "dot" + two, cx: x(run[0]), cy: y(Math.min(top, one.of(points[run[0]]))), r: 3 }));
        }
      });
      if (this.chosen !== null) {
        const at = x(this.chosen);
        root.append(svg("line", { class: "rule", x1: at, x2: at, y1: high, y2: height - low }));
        this.series.forEach((one) => {
          const value = one.of(points[this.chosen]);
          if (value !== null) root.append(svg("circle", { class: "dot" + (one.kind ? " " + one.kind : ""), cx: at, cy: y(Math.min(top, value)), r: 4.5 }));
        });
      }
      plot.replaceChildren(root);
    }

    // A line breaks where nothing is known.
    runs(one) {
      const runs = [];
      let run = null;
      this.points.forEach((point, index) => {
        if (one.of(point) === null) { run = null; return; }
        if (!run) runs.push(run = []);
        run.push(index);
      });
      return runs;
    }
  }

  const field = (name) => (point) => point[name] ?? null;
  const charts = [
    new Chart("chart-latency", [{ name: "median", of: field("median") }, { name: "95th percentile", kind: "two", of: field("p95") }], seconds),
    new Chart("chart-hits", [{ name: "answered without the network", of: field("hits") }], percent, 1),
    new Chart("chart-requests", [{ name: "per second", of: field("requests") }, { name: "failed", kind: "failed", of: (p) => (p.faults > 0 ? p.faults : null) }],
      (value) => number(value, value > 0 && value < 10 ? 1 : 0)),
  ];

  // Sections

  const showHead = (status) => {
    const reason = (check) => check.reason ?? check.name;
    const wrong = status.checks.filter((check) => !check.ok && check.required !== false);
    const warned = status.checks.filter((check) => !check.ok && check.required === false).map(reason);
    const away = (status.origins ?? []).filter((origin) => !origin.isUp).map((origin) => origin.name);
    const health = by("health");
    if (away.length) warned.push((away.length > 3 ? many(away.length, "origin", "origins") : away.join(", ")) + " away");
    setText(health, wrong.length ? "Not ready: " + wrong.map(reason).join("; ")
      : warned.length ? "Ready, but " + warned.join("; ") : "Ready");
    health.className = "health " + (wrong.length ? "bad" : warned.length ? "warn" : "good");
    document.title = (wrong.length || warned.length ? "● " : "") + "renderhost";
    const points = status.traffic.points;
    setText(by("traffic-window"), points.length < 2 ? ""
      : "of the last " + span((Date.parse(points.at(-1).time) - Date.parse(points[0].time)) / 1000)
        + ", a point each " + span(status.traffic.interval));
    const release = status.release;
    const total = status.bundles.reduce((sum, bundle) => sum + bundle.size, 0);
    const facts = [
      ...(status.servesBundles ? [
        ["release", "Release", release ? release.name : "none yet"],
        ["bundles", "Contents", many(status.bundles.length, "bundle", "bundles") + ", " + bytes(total)],
        ["verified", "Verified", release && release.verified ? ago(release.verified) : "–"],
      ] : []),
      ["uptime", "Running for", span(since(status.started))],
    ];
    if (release) facts.push(["source", "From", release.source]);
    const reports = release && release.reports;
    if (reports) {
      facts.push(["reports", "Reports",
        "bad on " + number(reports.bad) + " of " + many(reports.good + reports.bad, "install", "installs")
          + (reports.isHalted ? ", halted" : "")]);
    }
    keep(by("facts"), facts, (fact) => fact[0],
      (fact) => { const box = make("div", fact[0]); box.append(make("dt"), make("dd")); return box; },
      (box, fact) => { setText(box.children[0], fact[1]); setText(box.children[1], fact[2]); });
    setText(by("version"), "renderhost " + status.version);
  };

  const states = { ready: "good", up: "good", away: "bad", current: "good", behind: "warn", silent: "bad", "cut off": "bad", live: "good", busy: "good", loading: "warn", starting: "warn", reopened: "warn", barred: "bad", missing: "bad", failed: "bad", ending: "warn" };
  const setState = (element, state, title) => {
    setText(element, state);
    element.className = "state " + (states[state] ?? "");
    element.title = title ?? "";
  };

  const filter = by("filter");
  const showBundles = (bundles) => {
    by("filter-box").hidden = bundles.length < 12;
    const word = filter.value.trim().toLowerCase();
    const found = bundles.filter((bundle) => bundle.name.toLowerCase().includes(word));
    const shown = found.slice(0, 400);
    setText(by("bundles-count"), bundles.length
      ? (shown.length < bundles.length ? number(shown.length) + " of " : "") + number(bundles.length) : "");
    by("bundles-empty").hidden = bundles.length > 0;
    by("bundles-box").hidden = bundles.length === 0;
    keep(by("bundles"), shown, (bundle) => bundle.name,
      () => {
        const row = make("tr");
        const name = make("th"); name.scope = "row";
        const state = make("td"); state.append(make("span", "state"));
        row.append(name, make("td", "num"), make("td", "num dim"), make("td", "num dim opens"), state);
        return row;
      },
      (row, bundle) => {
        const [name, size, compressed, opens, state] = row.children;
        setText(name, bundle.name); name.title = bundle.url ?? bundle.name;
        setText(size, bytes(bundle.size));
        setText(compressed, bytes(bundle.compressed));
        setText(opens, bundle.opens === undefined || bundle.opens === null ? "–" : number(bundle.opens));
        setState(state.firstChild, bundle.state, bundle.reason);
      });
  };

  const showOrigins = (origins) => {
    by("origins-box").hidden = !origins;
    setText(by("origins-count"), origins ? many(origins.length, "origin", "origins") + ", since the start" : "");
    keep(by("origins"), origins ?? [], (origin) => origin.name,
      () => {
        const row = make("tr");
        const name = make("th"); name.scope = "row";
        const state = make("td"); state.append(make("span", "state"));
        row.append(name, state, ...["num", "num", "num dim", "num", "num dim", "num dim"].map((kind) => make("td", kind)));
        return row;
      },
      (row, origin) => {
        const [name, state, all, hits, collapsed, saved, median, p95] = row.children;
        setText(name, origin.name);
        name.title = origin.url + " for " + ([...origin.hosts, ...origin.prefixes].join(", ") || "all");
        const answers = Object.values(origin.answers).reduce((sum, count) => sum + count, 0);
        setText(all, number(answers));
        all.title = Object.entries(origin.answers).filter(([, count]) => count).map(([kind, count]) => kind + ": " + number(count)).sort().join(", ");
        const known = (value, format) => (value === undefined || value === null ? "–" : format(value));
        setText(hits, known(origin.hitRatio, percent));
        setText(collapsed, number(origin.answers.collapsed ?? 0));
        setText(saved, bytes(origin.savedBytes));
        setText(median, known(origin.median, seconds));
        setText(p95, known(origin.p95, seconds));
        setState(state.firstChild, origin.isUp ? "up" : "away", origin.isUp ? "" : "It could not be reached when it was last tried.");
      });
  };

  const showFleet = (fleet) => {
    by("fleet-box").hidden = !fleet;
    if (!fleet) return;
    setText(by("fleet-count"), many(fleet.peers.length, "host", "hosts"));
    by("fleet-problems").hidden = fleet.problems.length === 0;
    setText(by("fleet-problems"), fleet.problems.join("; "));
    const newest = Math.max(fleet.sequence + fleet.behind, ...fleet.peers.map((peer) => peer.sequence));
    const row = (kinds) => () => {
      const row = make("tr");
      const name = make("th"); name.scope = "row";
      row.append(name, ...kinds.map((kind) => make("td", kind)));
      return row;
    };
    keep(by("fleet"), fleet.peers, (peer) => peer.name,
      (peer) => { const made = row(["", "num", "num", "num dim", ""])(peer); made.lastChild.append(make("span", "state")); return made; },
      (row, peer) => {
        const [name, release, hits, order, heard, state] = row.children;
        const report = peer.report ?? {};
        setText(name, peer.name + (peer.name === fleet.host ? " (this one)" : ""));
        setText(release, report.release ? report.release + (report.isHalted ? ", halted" : "") : "–");
        setText(hits, report.hits === undefined || report.hits === null ? "–" : percent(report.hits));
        setText(order, number(peer.sequence));
        setText(heard, peer.silent < 2 ? "now" : span(peer.silent) + " ago");
        const late = newest - peer.sequence;
        const own = peer.name === fleet.host ? fleet.phase : null;
        setState(state.firstChild, own === "cut-off" ? "cut off" : peer.silent > 60 ? "silent" : late > 0 ? "behind" : "current",
          late > 0 ? many(late, "order", "orders") + " behind" : "");
      });
    by("orders-box").hidden = fleet.orders.length === 0;
    keep(by("orders"), fleet.orders, (order) => order.sequence, row(["what", "num dim", "num", "num", ""]),
      (row, order) => {
        const [sequence, what, given, purged, confirmed, missing] = row.children;
        setText(sequence, number(order.sequence));
        setText(what, order.text);
        what.title = order.text;
        setText(given, clock(order.at * 1000));
        setText(purged, number(order.purged));
        setText(confirmed, number(order.confirmed.length));
        confirmed.title = order.confirmed.join(", ");
        setText(missing, order.missing.join(", ") || "–");
      });
  };

  // Only paths of this host are shown.
  const own = (path) => (typeof path === "string" && /^\/(?!\/)/.test(path) ? path : null);
  const scaler = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const frame = target.querySelector("iframe");
      if (frame) frame.style.transform = `scale(${target.clientWidth / 750})`;
    }
  });
  // Small pictures, of a host that draws pages: only of those that can be seen, one after the other, each after a pause. One
  // that does not come is asked for again soon, as the host may be busy, and then after longer and longer pauses.
  const PAUSE = 5000, FIRST_RETRY = 1500, LAST_RETRY = 30000, PATIENCE = 20000;
  const pictures = new Map();
  let isLoading = false;
  const sight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const picture = pictures.get(target);
      if (picture) picture.isSeen = isIntersecting;
    }
    loadPicture();
  }, { rootMargin: "100px" });
  const dropPicture = (box) => { if (pictures.delete(box)) sight.unobserve(box); };
  const loadPicture = () => {
    if (isLoading || document.hidden) return;
    for (const box of [...pictures.keys()]) if (!box.isConnected) dropPicture(box);
    const next = [...pictures].filter(([, picture]) => picture.isSeen && picture.path !== picture.shown && picture.after <= Date.now())
      .sort(([, one], [, other]) => one.after - other.after)[0];
    if (!next) return;
    const [box, picture] = next, path = picture.path, image = new Image();
    const end = (isGood) => {
      clearTimeout(timer);
      image.onload = image.onerror = null;
      picture.shown = isGood ? path : null;
      picture.after = Date.now() + (isGood ? PAUSE : picture.retry);
      picture.retry = isGood ? FIRST_RETRY : Math.min(picture.retry * 2, LAST_RETRY);
      if (pictures.get(box) === picture) box.replaceChildren(isGood ? image : make("p", "nothing", "No picture."));
      isLoading = false;
      loadPicture();
    };
    isLoading = true;
    const timer = setTimeout(() => end(false), PATIENCE);
    image.onload = () => end(true);
    image.onerror = () => end(false);
    image.alt = picture.name;
    image.src = path;
  };
  const showPicture = (box, path, name) => {
    if (!pictures.has(box)) {
      box.replaceChildren(make("p", "nothing", "Nothing to see yet."));
      delete box.dataset.stamp;
      pictures.set(box, { shown: null, after: 0, retry: FIRST_RETRY, isSeen: false });
      sight.observe(box);
    }
    Object.assign(pictures.get(box), { path, name });
  };

  const showPages = (pages) => {
    setText(by("pages-count"), pages.length ? number(pages.length) : "");
    by("pages-empty").hidden = pages.length > 0;
    keep(by("pages"), pages.slice(0, 60), (page) => page.id,
      () => {
        const item = make("li", "page"), preview = make("div", "preview"), about = make("div", "about");
        const row = make("p", "row"), more = make("p", "row");
        row.append(make("span", "state"), make("span", "entry"));
        more.append(make("span", "elements"), make("span", "age"));
        about.append(make("a"), row, more, make("p", "wrong"));
        item.append(preview, about);
        scaler.observe(preview);
        return item;
      },
      (item, page) => {
        const preview = item.firstChild, link = item.querySelector("a");
        const path = own(page.preview), picture = page.phase !== "failed" ? own(page.picture) : null;
        const stamp = [path, page.phase, page.elements].join(" ");
        if (picture) showPicture(preview, picture, "Picture of " + page.url);
        else dropPicture(preview);
        if (!picture && preview.dataset.stamp !== stamp) {
          preview.dataset.stamp = stamp;
          if (path && page.phase !== "failed") {
            const old = preview.querySelector("iframe");
            const frame = make("iframe");
            frame.setAttribute("sandbox", "");
            frame.setAttribute("tabindex", "-1");
            frame.title = "Preview of " + page.url;
            frame.loading = "lazy";
            frame.src = path;
            frame.style.transform = `scale(${preview.clientWidth / 750 || 0.3})`;
            // The old picture stays until the new one is there.
            frame.addEventListener("load", () => { for (const other of [...preview.children]) if (other !== frame) other.remove(); }, { once: true });
            if (!old) preview.replaceChildren();
            preview.append(frame);
          } else {
            preview.replaceChildren(make("p", "nothing", page.phase === "failed" ? "This page failed." : "Nothing to see yet."));
          }
        }
        setText(link, page.url.replace(/^.*\/(?=[^/]+$)/, "")); link.title = page.url;
        const target = own(page.live) ?? own(page.preview);
        if (target) link.href = target; else link.removeAttribute("href");
        setState(item.querySelector(".state"), page.phase, page.worker ? "in worker " + page.worker : "");
        setText(item.querySelector(".entry"), page.entry === undefined || page.entry === null ? "" : "in " + seconds(page.entry));
        setText(item.querySelector(".elements"), page.elements === undefined || page.elements === null ? "" : many(page.elements, "element", "elements"));
        setText(item.querySelector(".age"), span(since(page.opened)) + " old");
        const wrong = item.querySelector(".wrong");
        setText(wrong, page.error ?? ""); wrong.hidden = !page.error; wrong.title = page.error ?? "";
      });
    loadPicture();
  };

  const showWorkers = (workers) => {
    setText(by("workers-count"), workers.length ? number(workers.length) : "");
    by("workers-empty").hidden = workers.length > 0;
    keep(by("workers"), workers, (worker) => worker.slot,
      () => {
        const item = make("li", "worker"), first = make("div", "row"), second = make("div", "row small");
        first.append(make("span", "name"), make("span", "state"));
        const bar = svg("svg", { class: "bar", viewBox: "0 0 100 7", preserveAspectRatio: "none", role: "img" });
        bar.append(svg("rect", { class: "back", width: 100, height: 7 }), svg("rect", { class: "front", height: 7 }));
        second.append(make("span", "memory"), make("span", "doing"));
        item.append(first, bar, second);
        return item;
      },
      (item, worker) => {
        setText(item.querySelector(".name"), "Worker " + worker.slot + (worker.pid ? ", process " + worker.pid : ""));
        setState(item.querySelector(".state"), worker.state);
        const share = worker.memoryLimit ? Math.min(1, (worker.memory ?? 0) / worker.memoryLimit) : 0;
        const front = item.querySelector(".front");
        front.setAttribute("width", (share * 100).toFixed(1));
        front.setAttribute("class", "front" + (share > 0.9 ? " bad" : share > 0.7 ? " warn" : ""));
        const memory = bytes(worker.memory) + (worker.memoryLimit ? " of " + bytes(worker.memoryLimit) : "");
        item.querySelector(".bar").setAttribute("aria-label", "Memory: " + memory);
        setText(item.querySelector(".memory"), memory);
        setText(item.querySelector(".doing"), many(worker.pages, "page", "pages") + (worker.kills ? ", killed " + many(worker.kills, "time", "times") : ""));
      });
  };

  const showFailures = (failures) => {
    setText(by("failures-count"), failures.length ? number(failures.length) : "");
    by("failures-empty").hidden = failures.length > 0;
    keep(by("failures"), failures, (failure) => failure.time + failure.kind + failure.message + (failure.subject ?? ""),
      () => {
        const item = make("li"), meta = make("p", "meta");
        meta.append(make("span"), make("time"));
        item.append(meta, make("p", "what"), make("p", "on"));
        return item;
      },
      (item, failure) => {
        const [kind, time] = item.firstChild.children;
        setText(kind, failure.kind);
        setText(time, ago(failure.time)); time.dateTime = failure.time; time.title = failure.time;
        setText(item.children[1], failure.message);
        setText(item.children[2], failure.subject ?? ""); item.children[2].hidden = !failure.subject;
      });
  };

  // Updates

  let status = null, timer = 0, misses = 0;
  const show = () => {
    showHead(status);
    for (const chart of charts) chart.show(status.traffic.points);
    showOrigins(status.origins);
    showFleet(status.fleet);
    for (const box of document.querySelectorAll("[data-bundles]")) box.hidden = !status.servesBundles;
    showPages(status.pages);
    showBundles(status.bundles);
    showWorkers(status.workers);
    showFailures(status.failures);
  };
  const update = async () => {
    clearTimeout(timer);
    try {
      const answer = await fetch("/status", { signal: AbortSignal.timeout(8000), cache: "no-store" });
      if (!answer.ok) throw new Error("the host answered with " + answer.status);
      status = await answer.json();
      misses = 0;
      by("offline").hidden = true;
      show();
    } catch (error) {
      misses += 1;
      setText(by("offline"), status ? "The host does not answer; what is shown is from " + span(misses * PERIOD / 1000) + " ago. Trying again." : "The host does not answer. Trying again.");
      by("offline").hidden = misses < 2;
    }
    // Nobody looks at a hidden page.
    if (!document.hidden) timer = setTimeout(update, PERIOD * Math.min(8, 1 + misses));
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) update(); });
  filter.addEventListener("input", () => { if (status) showBundles(status.bundles); });
  update();
})();
