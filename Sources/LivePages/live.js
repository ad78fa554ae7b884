// Shows a page that runs in its host, and tells the host what its user does. Plain JavaScript without dependencies.
//
// The document has the page's elements as they were; patches follow as server-sent events. Each has a number: a patch
// changes what the number before it has shown, and after a gap the whole page is fetched. A page that is pushed is shown
// in this document too, with an entry of its own in the browser's history.
"use strict";
(() => {
  const facts = document.currentScript.dataset;
  /** The opened pages by their ids: what the host has said of them, and what was on the screen when they were left. */
  const pages = new Map();
  /** The elements of the shown page by their refs. */
  const elements = new Map();
  /** The texts that were sent to the host for an input and that no patch has told back, the first one first. */
  const sent = new WeakMap();
  let page, stream, isQuiet = false;

  // MARK: The host

  const ask = (method, path, body, more) => fetch(path, {
    method, credentials: "same-origin", cache: "no-store",
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body), ...more,
  });
  const pause = (time) => new Promise((resume) => setTimeout(resume, time));
  const reason = async (answer) => { try { return (await answer.json()).error; } catch { return `the host answered ${answer.status}`; } };

  /** The events that the host does not have yet. They go one request after the other, so that they stay in order. */
  const queue = [];
  let isSending = false;

  const send = async () => {
    if (isSending) return;
    isSending = true;
    let tries = 0;
    while (queue.length) {
      const id = queue[0].page, batch = [];
      while (queue.length && queue[0].page === id && batch.length < 32) batch.push(queue.shift());
      try {
        // The refs are those of the elements now: the script may have run anew since the user did it.
        const run = pages.get(id)?.run, events = batch.map(({ element, event }) => ({ ref: element.dataset.ref, ...event }));
        const answer = await ask("POST", `/pages/${id}/live/events`, { run, events });
        if (answer.status === 503 && tries++ < 5) {
          queue.unshift(...batch);
          await pause(1000 * (Number(answer.headers.get("Retry-After")) || 1));
        } else if (answer.status === 409 && tries++ < 100) {
          // The new run is shown first.
          if (page.id === id && page.run === run) refetch();
          await pause(30);
          queue.unshift(...batch.filter(({ element }) => element.isConnected));
        } else {
          tries = 0;
          if (!answer.ok) console.warn(await reason(answer));
        }
      } catch (error) { console.warn(`an event was lost: ${error.message}`); }
    }
    isSending = false;
  };

  /** Sends an event to the host, without the frames around. */
  const enqueue = (element, type, event, attrs) => {
    const next = { type, event: { position: place(element), ...event } };
    if (attrs) next.changes = { attrs };
    const last = queue[queue.length - 1];
    // Of scrolling and typing the latest counts.
    const isLatest = (type === "scroll" || type === "input") && last && last.page === page.id
      && last.event.type === type && last.element === element;
    if (isLatest) last.event = next; else queue.push({ page: page.id, element, event: next });
    send();
  };

  const fire = (element, type, event = {}, attrs) => {
    enqueue(element, type, event, attrs);
    if (!passedOn.has(type)) return;
    for (const other of frameHost()?.others(window) || []) other.liveRepeat?.(way(element), type, event, attrs);
  };

  const hears = (element, type) => (element.dataset.events || "").split(" ").includes(type);
  /** The element or the nearest around it that listens. */
  const listening = (node, type) => {
    for (let at = node instanceof Element ? node.closest("[data-ref]") : null; at; at = at.parentElement?.closest("[data-ref]")) {
      if (hears(at, type)) return at;
    }
    return null;
  };

  /** The pixels of a unit of the design. */
  const unit = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 100 || 1;
  const place = (element) => {
    const box = element.getBoundingClientRect(), size = unit(), left = document.body.getBoundingClientRect().left;
    return { x: (box.left - left) / size, y: box.top / size, width: box.width / size, height: box.height / size };
  };

  // MARK: Frames beside each other

  /** What a document gives to the frames in it that show a page in several sizes: one stream for all of them, and the others. */
  const frameHost = () => { try { return window === top ? null : parent.liveFrames; } catch { return null; } };
  /** The events that are done in the other frames too, if their host says so. */
  const passedOn = new Set(["click", "longpress", "input", "change", "return", "swipe"]);
  const kind = (element) => `${element.nodeName} ${element.classList[0] || ""}`;
  const ofKind = (parent, name) => [...parent.children].filter((at) => kind(at) === name);
  /** The way to an element of the page: its kind, and its number among those of its kind, on each level. */
  const way = (element) => {
    const steps = [];
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      steps.unshift([kind(at), ofKind(at.parentElement, kind(at)).indexOf(at)]);
    }
    return steps;
  };
  /** Does here what was done in another frame. */
  window.liveRepeat = (steps, type, event, attrs) => {
    const element = steps.reduce((at, [name, index]) => at && ofKind(at, name)[index], document.body);
    if (!element || !hears(element, type) && type !== "change") {
      return say(`No element fits what was done in another size: ${type}.`, 3000);
    }
    if (isField(element) && attrs?.value !== undefined) setText(element, attrs.value);
    enqueue(element, type, event, attrs);
  };

  // MARK: What is shown

  const within = (element) => [element, ...element.querySelectorAll("[data-ref]")].filter((at) => at.dataset?.ref);
  const note = (element) => {
    for (const at of within(element)) {
      elements.set(at.dataset.ref, at);
      if (hears(at, "appear") || hears(at, "disappear")) seen.observe(at);
    }
  };
  const forget = (element) => {
    for (const at of within(element)) {
      if (elements.get(at.dataset.ref) === at) elements.delete(at.dataset.ref);
      seen.unobserve(at);
    }
  };
  const found = (ref) => {
    const element = elements.get(ref);
    if (!element) throw new Error(`there is no element ${ref}`);
    return element;
  };
  const inside = (ref) => {
    if (ref === "") return document.body;
    const element = found(ref);
    return element.querySelector(":scope > .columns") || element;
  };

  /** Says which of the elements that listen can be seen. */
  const seen = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (isIntersecting === (target.liveSeen || false)) continue;
      target.liveSeen = isIntersecting;
      const type = isIntersecting ? "appear" : "disappear";
      if (hears(target, type)) fire(target, type, { direction: "" });
    }
  });

  /** Sets the text of an input, but for one that its user has typed and that comes back. */
  const setText = (input, text) => {
    const own = sent.get(input) || [], at = own.indexOf(text);
    if (at >= 0) return void own.splice(0, at + 1);
    if (input.value === text) return;
    const isActive = document.activeElement === input, end = input.value.length - (input.selectionEnd ?? 0);
    input.value = text;
    if (isActive) select(input, Math.max(0, text.length - end));
  };
  const select = (input, start, end = start) => {
    // Numbers and addresses have no selection.
    try { input.setSelectionRange(start, end); } catch { }
  };
  const isField = (node) => node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement;

  const steps = {
    remove: (ref) => { const element = found(ref); forget(element); element.remove(); },
    rename: (refs) => {
      const staying = Object.entries(refs).map(([ref, next]) => [found(ref), next]);
      for (const ref of Object.keys(refs)) elements.delete(ref);
      for (const [element, ref] of staying) { element.dataset.ref = ref; elements.set(ref, element); }
    },
    insert: (html, parent, next) => {
      const template = document.createElement("template");
      template.innerHTML = html;
      const added = [...template.content.children];
      inside(parent).insertBefore(template.content, next === null ? null : found(next));
      for (const element of added) note(element);
    },
    move: (ref, parent, next) => {
      const element = found(ref), target = inside(parent), before = next === null ? null : found(next);
      if (target.moveBefore && element.isConnected) return void target.moveBefore(element, before);
      const scrolled = within(element).map((at) => [at, at.scrollLeft, at.scrollTop]).filter(([, x, y]) => x || y);
      target.insertBefore(element, before);
      for (const [at, x, y] of scrolled) at.scrollTo({ left: x, top: y, behavior: "instant" });
    },
    change: (ref, changes) => {
      const element = found(ref);
      for (const [name, value] of Object.entries(changes)) {
        if (value === null) element.removeAttribute(name); else element.setAttribute(name, value);
        if (name === "value" && isField(element)) setText(element, value ?? "");
        if (name === "data-events" && (hears(element, "appear") || hears(element, "disappear"))) seen.observe(element);
      }
    },
    text: (ref, text) => {
      const element = found(ref);
      if (element instanceof HTMLTextAreaElement) return setText(element, text);
      const first = element.firstChild;
      if (first instanceof Text) first.data = text; else if (text) element.prepend(text);
    },
  };

  /** Changes the document; what has the focus keeps it. */
  const keepingFocus = (change) => {
    const active = document.activeElement;
    const range = isField(active) ? [active.selectionStart, active.selectionEnd] : null;
    isQuiet = true;
    try { change(); } finally {
      if (active && active !== document.body && active.isConnected && document.activeElement !== active) {
        active.focus({ preventScroll: true });
        if (range && range[0] !== null) select(active, ...range);
      }
      isQuiet = false;
    }
  };

  const dress = (of) => {
    if (of.title !== undefined) document.title = of.title;
    if (of.styles !== undefined) document.getElementById("live-styles").textContent = of.styles;
    if (of.class !== undefined) document.body.className = of.class;
    Object.assign(page.look ??= {}, { title: document.title, class: document.body.className }, of.styles === undefined ? {} : { styles: of.styles });
  };

  const patch = (change) => {
    if (change.number <= page.number) return;
    if (change.number !== page.number + 1) return refetch();
    const isNewRun = change.run !== undefined;
    try {
      keepingFocus(() => {
        if (isNewRun) forgetRun();
        for (const [name, ...rest] of change.steps || []) steps[name](...rest);
      });
    } catch (error) {
      console.warn(`a patch does not fit: ${error.message}`);
      return refetch();
    }
    page.number = change.number;
    if (isNewRun) { page.run = change.run; noteRun(); }
    dress(change);
    frame();
  };

  /** Before another run of the script is shown: it has been told nothing yet. */
  const forgetRun = () => {
    seen.disconnect();
    for (const field of document.body.querySelectorAll("input,textarea")) sent.delete(field);
  };
  /** After that: it is told what can be seen, and where the ends of lists are. */
  const noteRun = () => {
    for (const element of document.body.querySelectorAll("[data-ref]")) element.liveSeen = element.liveEnd = undefined;
    note(document.body);
  };

  /** Gives an element the attributes of another one. A text that its user has typed stays unless the page changes it. */
  const dressAs = (element, other) => {
    for (const { name } of [...element.attributes]) {
      if (other.hasAttribute(name)) continue;
      element.removeAttribute(name);
      if (name === "value" && isField(element)) setText(element, "");
    }
    for (const { name, value } of other.attributes) {
      if (element.getAttribute(name) === value) continue;
      element.setAttribute(name, value);
      if (name === "value" && isField(element)) setText(element, value);
    }
  };

  /** Changes what is in a node into what is in another one. Nodes that stay keep their scroll offset and the focus. */
  const morph = (node, other) => {
    let at = node.firstChild, kept = node.childNodes.length;
    const wanted = [...other.childNodes];
    for (const [index, next] of wanted.entries()) {
      // Where fewer nodes follow than are there, those before the next one of its kind have gone.
      let same = at;
      if (kept > wanted.length - index) while (same && same.nodeName !== next.nodeName) same = same.nextSibling;
      while (same && at !== same) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
        kept -= 1;
      }
      if (at?.nodeName !== next.nodeName) { node.insertBefore(next, at); continue; }
      if (!(next instanceof Element)) {
        if (at.data !== next.data) at.data = next.data;
      } else if (at instanceof HTMLTextAreaElement) {
        if (at.defaultValue !== next.defaultValue) { at.defaultValue = next.defaultValue; setText(at, next.defaultValue); }
        dressAs(at, next);
      } else {
        dressAs(at, next);
        morph(at, next);
      }
      at = at.nextSibling;
      kept -= 1;
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };

  /** Shows the whole page anew: what was scrolled, typed and chosen in elements that stay is kept. */
  const fill = (view) => {
    const template = document.createElement("template");
    template.innerHTML = view.html;
    isQuiet = true;
    elements.clear();
    forgetRun();
    morph(document.body, template.content);
    page.number = view.number;
    dress(view);
    noteRun();
    isQuiet = false;
    frame();
  };

  // MARK: Messages of this document

  const box = (name, tag = "div") => {
    let element = document.querySelector(`html > .${name}`);
    if (!element) {
      element = document.createElement(tag);
      element.className = name;
      element.setAttribute("role", "status");
      document.documentElement.append(element);
    }
    return element;
  };
  let noteTimer;
  const say = (text, time) => {
    clearTimeout(noteTimer);
    box("live-note").textContent = text;
    if (time) noteTimer = setTimeout(() => say(""), time);
  };

  const ended = (why) => {
    stream?.close();
    page.isOver = true;
    say("");
    questions = [];
    showQuestion();
    const end = box("live-end"), text = document.createElement("p"), button = document.createElement("button");
    text.textContent = `This page has ended: ${why}.`;
    button.textContent = "Begin again";
    button.addEventListener("click", async () => {
      button.disabled = true;
      const former = page;
      try {
        const next = await open(former.request);
        next.depth = former.depth;
        pages.delete(former.id);
        show(next);
        history.replaceState({ ...history.state, page: next.id, request: next.request }, "");
      } catch (error) {
        text.textContent = `This page cannot begin again: ${error.message}.`;
        button.disabled = false;
      }
    });
    end.replaceChildren(text, button);
  };

  /** Shows its author an error of the page's script, over what the page has shown. Escape and a click take it away. */
  const showFault = (fault) => {
    hideFault();
    const shade = box("live-fault"), made = (tag, text) => {
      const element = document.createElement(tag);
      element.textContent = text;
      shade.append(element);
      return element;
    };
    shade.setAttribute("role", "alert");
    made("h2", fault.message);
    if (fault.place) made("p", fault.place);
    if (fault.lines.length) {
      const code = made("pre", "");
      for (const line of fault.lines) {
        const text = document.createElement(line.number === fault.line ? "b" : "span");
        text.textContent = `${String(line.number).padStart(4)}  ${line.text}`;
        code.append(text, line.number === fault.line ? "" : "\n");
      }
    }
    if (fault.stack.length) made("pre", fault.stack.join("\n"));
    shade.addEventListener("click", () => { if (!String(getSelection())) hideFault(); });
  };
  const hideFault = () => document.querySelector("html > .live-fault")?.remove();

  // MARK: Questions

  /** What the page's script asks, the first question first, and the texts of the latest ones. */
  let questions = [], asked = [];
  const showQuestion = () => {
    document.querySelector("html > .live-question")?.remove();
    const [first] = questions;
    if (!first) return;
    const shade = box("live-question"), made = (tag) => shade.appendChild(document.createElement(tag));
    shade.setAttribute("role", "dialog");
    made("p").textContent = first.text;
    const field = first.kind === "prompt" ? made("input") : null;
    if (field) field.value = first.preset;
    const buttons = first.buttons.map((title, button) => {
      const element = made("button");
      element.textContent = title;
      element.addEventListener("click", () => choose(first, button, field?.value));
      return element;
    });
    shade.addEventListener("keydown", (event) => {
      // An input method takes these keys for itself.
      if (event.isComposing) return;
      if (event.key === "Escape") choose(first, buttons.length - 1, field?.value);
      if (event.key === "Enter" && event.target === field) choose(first, 0, field.value);
    });
    (field || buttons[0])?.focus();
    field?.select();
  };
  const answered = ({ id }) => {
    questions = questions.filter((question) => question.id !== id);
    showQuestion();
  };
  const choose = async (question, button, text = "") => {
    answered(question);
    try {
      const answer = await ask("POST", `/pages/${page.id}/live/answer`, { id: question.id, button, text });
      if (answer.ok) return;
      console.warn(await reason(answer));
      if (answer.status === 503) addQuestion(question);
    } catch (error) {
      console.warn(`an answer was lost: ${error.message}`);
      addQuestion(question);
    }
  };
  const addQuestion = (question) => {
    if (questions.some(({ id }) => id === question.id)) return;
    questions.push(question);
    asked = [...asked.slice(-15), question.text];
    if (questions.length === 1) showQuestion();
  };
  /** A question that was answered without a user is shown as a message. */
  const showMessage = (message) => {
    const show = () => say(message.text, message.stays ? 0 : 3000);
    if (!message.buttons) return show();
    setTimeout(() => { if (!asked.includes(message.text)) show(); }, 300);
  };

  // MARK: Developer tools

  /** What the page's developer tools show here: a box around an element, and whether a click chooses one for them. */
  let overlay = { ref: null, label: "", picking: false };
  /** The element that a click would choose. */
  let hovered = null;
  /** Puts the box where its element is; without one there is no box. */
  const frame = () => {
    const element = hovered ?? elements.get(overlay.ref);
    if (!element?.isConnected) return void document.querySelector("html > .live-box")?.remove();
    const shade = box("live-box"), { left, top, width, height } = element.getBoundingClientRect(), size = unit();
    Object.assign(shade.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    const length = (pixels) => Math.round(pixels / size * 10) / 10;
    shade.dataset.label = `${hovered ? "" : overlay.label} ${length(width)} × ${length(height)}`.trim();
    shade.setAttribute("aria-hidden", "true");
  };
  const showOverlay = (next) => {
    overlay = next;
    hovered = null;
    document.documentElement.classList.toggle("live-picks", overlay.picking);
    frame();
  };
  const pick = async (element) => {
    try {
      const answer = await ask("POST", `/pages/${page.id}/live/pick`, { ref: element.dataset.ref, run: page.run });
      if (!answer.ok) console.warn(await reason(answer));
    } catch (error) { console.warn(`a choice was lost: ${error.message}`); }
  };

  // MARK: The stream of patches

  let isAway = false;
  const listen = () => {
    stream?.close();
    questions = [];
    showQuestion();
    const acts = {
      question: addQuestion, answered, patch, navigate, again: () => refetch(), fault: showFault, mended: () => hideFault(),
      overlay: showOverlay,
      message: showMessage,
      exception: (fault) => console.error(fault.message),
      reopened: (why) => { say(`This page has begun again: ${why.reason}.`, 10000); refetch(); },
      ended: (why) => ended(why.reason || "it was closed"),
      busy: () => say("Too many viewers see this page: waiting for a place.", 5000),
    };
    let now;
    const told = (name, position, details) => {
      if (stream !== now) return;
      if (position) page.position = position;
      acts[name](details);
    };
    const connected = (isThere) => {
      if (stream !== now || isThere !== isAway) return;
      isAway = !isThere;
      say(isThere ? "" : "Not connected to the host: trying again.");
    };
    const around = frameHost();
    if (around) { now = stream = around.listen(page.id, page.position, Object.keys(acts), told, connected); return; }
    now = stream = new EventSource(`/pages/${page.id}/live/patches?lastEventId=${page.position}`);
    for (const name of Object.keys(acts)) {
      now.addEventListener(name, (event) => told(name, Number(event.lastEventId), event.data ? JSON.parse(event.data) : {}));
    }
    now.onopen = () => connected(true);
    now.onerror = () => {
      connected(false);
      // A host that has begun anew refuses the stream of a page that it does not know.
      if (stream === now && now.readyState === EventSource.CLOSED) refetch();
    };
  };

  let isFetching = false;
  const refetch = async () => {
    if (isFetching) return;
    isFetching = true;
    stream?.close();
    const wanted = page;
    for (let wait = 500; page === wanted; wait = Math.min(wait * 2, 8000)) {
      try {
        const answer = await ask("GET", `/pages/${wanted.id}/live`);
        if (page !== wanted) break;
        if (answer.ok) {
          const now = await answer.json();
          if (page !== wanted) break;
          // What was told since the last event is told again: the patches that the view has are known by their numbers.
          page.run = now.run;
          fill(now.view);
          listen();
          break;
        }
        if (answer.status !== 503) { ended(await reason(answer)); break; }
      } catch { }
      await pause(wait);
    }
    isFetching = false;
    if (page !== wanted && !page.isOver && stream?.readyState === EventSource.CLOSED) refetch();
  };

  // MARK: Navigation

  const open = async (request) => {
    const answer = await ask("POST", "/live", request);
    if (!answer.ok) throw new Error(await reason(answer));
    const { page: id, run, position, view, request: known, shared } = await answer.json();
    const made = { id, run, position, request: known, shared, view };
    pages.set(id, made);
    return made;
  };

  const tellRoot = (type) => {
    const root = document.body.querySelector(":scope > [data-ref]");
    if (root && hears(root, type) && !page.isOver) fire(root, type);
  };

  /** Takes the shown page from the screen, and keeps its elements as they are. */
  const leave = () => {
    tellRoot("viewdisappear");
    stream?.close();
    page.scrolled = [...elements].map(([ref, at]) => [ref, at.scrollLeft, at.scrollTop]).filter(([, x, y]) => x || y);
    page.place = [scrollX, scrollY];
    page.nodes = document.createDocumentFragment();
    page.nodes.append(...document.body.childNodes);
    seen.disconnect();
    elements.clear();
  };

  const show = (next) => {
    document.querySelector("html > .live-end")?.remove();
    hideFault();
    showOverlay({ ref: null, label: "", picking: false });
    page = next;
    if (page.nodes) {
      document.body.replaceChildren(page.nodes);
      delete page.nodes;
      dress(page.look);
      note(document.body);
      for (const [ref, x, y] of page.scrolled) elements.get(ref)?.scrollTo({ left: x, top: y, behavior: "instant" });
      scrollTo({ left: page.place[0], top: page.place[1], behavior: "instant" });
      tellRoot("viewappear");
    } else {
      fill(page.view);
      delete page.view;
      scrollTo({ left: 0, top: 0, behavior: "instant" });
    }
    listen();
  };

  const close = (gone) => {
    pages.delete(gone.id);
    if (!gone.shared) ask("DELETE", `/pages/${gone.id}/live`, undefined, { keepalive: true }).catch(() => { });
  };

  const navigate = async ({ action, url }) => {
    if (action === "pop") return page.depth ? history.back() : undefined;
    const from = page;
    try {
      const { device } = from.request, next = await open({ url, device });
      if (page !== from) return close(next);
      next.depth = from.depth + 1;
      leave();
      show(next);
      history.pushState(
        { page: next.id, request: next.request, depth: next.depth }, "",
        `/live?url=${encodeURIComponent(url)}${device ? `&device=${encodeURIComponent(device)}` : ""}`);
    } catch (error) { say(`${url} cannot be opened: ${error.message}.`, 8000); }
  };

  addEventListener("popstate", async ({ state }) => {
    if (!state?.page || state.page === page.id) return;
    const former = page, known = pages.get(state.page);
    try {
      const next = known || await open(state.request);
      if (page !== former) return close(next);
      next.depth = state.depth;
      leave();
      // A page that was gone back from has no use any more.
      if (next.depth < former.depth) close(former);
      show(next);
      if (!known) history.replaceState({ ...state, page: next.id }, "");
    } catch (error) { say(`The page cannot be opened: ${error.message}.`, 8000); }
  });

  // A browser has few connections to a host: a frame that is not seen leaves them to others.
  if (window !== top) {
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) stream?.close(); else if (!page.isOver) refetch();
    });
  }

  // A page of this viewer alone ends with it.
  addEventListener("pagehide", (event) => {
    if (event.persisted) return;
    stream?.close();
    for (const one of [...pages.values()]) close(one);
  });

  // MARK: The user

  const on = (type, act, options = true) => document.addEventListener(type, act, options);

  // While developer tools wait for a choice, the page hears nothing of the pointer.
  for (const type of ["pointerdown", "mousedown", "pointermove", "pointerup", "click"]) {
    on(type, (event) => {
      if (!overlay.picking) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      const element = event.target instanceof Element ? event.target.closest("[data-ref]") : null;
      if (element !== hovered) { hovered = element; frame(); }
      if (type === "click" && element) pick(element);
    });
  }
  addEventListener("resize", frame);

  on("keydown", (event) => { if (event.key === "Escape") hideFault(); });

  /** Where a finger is down; and whether what it does is no tap. */
  let pressed = null, isNoTap = false;
  on("click", (event) => {
    if (isNoTap) { isNoTap = false; return; }
    const toggle = event.target instanceof Element ? event.target.closest(".w-switch") : null;
    if (toggle) {
      const value = !toggle.hasAttribute("data-on");
      fire(toggle, "change", { value }, { checked: value });
    }
    const element = listening(event.target, "click");
    if (element) fire(element, "click");
  });

  on("pointerdown", (event) => {
    isNoTap = false;
    const long = listening(event.target, "longpress");
    pressed = { x: event.clientX, y: event.clientY, target: event.target, timer: 0 };
    if (long) pressed.timer = setTimeout(() => { isNoTap = true; fire(long, "longpress"); }, 500);
  });
  on("pointermove", (event) => {
    if (pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > 10) clearTimeout(pressed.timer);
  });
  on("pointercancel", () => { clearTimeout(pressed?.timer); pressed = null; });
  on("pointerup", (event) => {
    if (!pressed) return;
    const { x, y, target, timer } = pressed;
    pressed = null;
    clearTimeout(timer);
    const [across, down] = [event.clientX - x, event.clientY - y];
    if (Math.max(Math.abs(across), Math.abs(down)) < 30 || !(target instanceof Element)) return;
    isNoTap = true;
    const isAcross = Math.abs(across) > Math.abs(down);
    const slider = isAcross ? target.closest("[data-slides]") : null;
    if (slider) turn(slider, across < 0 ? 1 : -1);
    const element = listening(target, "swipe");
    if (element) fire(element, "swipe", { direction: isAcross ? (across < 0 ? "left" : "right") : (down < 0 ? "up" : "down") });
  });

  const turn = (slider, by) => {
    const slides = [...slider.children].filter((at) => at.dataset.ref && !at.classList.contains("w-indicator"));
    if (slides.length < 2) return;
    const shown = slides.findIndex((at) => at.dataset.slide !== "hidden");
    const index = (shown + by + slides.length) % slides.length;
    fire(slider, "change", { index }, { index });
  };

  on("input", ({ target }) => {
    if (!isField(target) || !hears(target, "input")) return;
    const own = sent.get(target) || [];
    own.push(target.value);
    if (own.length > 100) own.shift();
    sent.set(target, own);
    fire(target, "input", { value: target.value, timestamp: Date.now() }, { value: target.value });
  });
  on("change", ({ target }) => {
    if (!isQuiet && isField(target) && target.dataset.ref) fire(target, "change", { value: target.value }, { value: target.value });
  });
  on("keydown", (event) => {
    if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement) || !hears(event.target, "return")) return;
    fire(event.target, "return", { returnKeyType: "default", value: event.target.value }, { value: event.target.value });
  });
  for (const [type, name] of [["focusin", "focus"], ["focusout", "blur"]]) {
    on(type, ({ target }) => {
      if (!isQuiet && isField(target) && hears(target, name)) fire(target, name, { value: target.value });
    });
  }

  const scrollTimers = new WeakMap();
  const scrolled = (element) => {
    const size = unit(), length = { width: element.scrollWidth / size, height: element.scrollHeight / size };
    const hasListeners = ["scroll", "scrollend", "scrollstart", "loadmore"].some((type) => hears(element, type))
      || element.querySelector("[data-events~=appear],[data-events~=disappear]");
    if (!hasListeners) return;
    fire(element, "scroll", {
      contentSize: length, contentOffset: { x: -element.scrollLeft / size, y: -element.scrollTop / size },
    });
    const rest = element.dataset.scroll === "across"
      ? element.scrollWidth - element.clientWidth - element.scrollLeft
      : element.scrollHeight - element.clientHeight - element.scrollTop;
    // Once for each length of the content.
    const stamp = `${element.scrollWidth} ${element.scrollHeight}`;
    if (rest <= 2 && hears(element, "loadmore") && element.liveEnd !== stamp) {
      element.liveEnd = stamp;
      fire(element, "loadmore");
    }
  };
  on("scroll", frame);
  on("scroll", ({ target }) => {
    if (isQuiet || !(target instanceof Element) || !target.dataset.scroll || scrollTimers.has(target)) return;
    scrollTimers.set(target, setTimeout(() => { scrollTimers.delete(target); if (target.isConnected) scrolled(target); }, 50));
  });

  // MARK: The beginning

  // At once: a user may tap before the document is complete.
  page = {
    id: facts.page, run: Number(facts.run), number: Number(facts.number), position: Number(facts.position),
    request: JSON.parse(facts.request), shared: facts.shared === "yes",
    // A document that is loaded again stays where it is in the history.
    depth: history.state?.depth || 0,
  };
  pages.set(page.id, page);
  document.addEventListener("DOMContentLoaded", () => {
    dress({ title: document.title, styles: document.getElementById("live-styles").textContent });
    note(document.body);
    // A ticket is good once, and has no place in an address that is kept.
    const address = new URL(location.href);
    address.searchParams.delete("ticket");
    history.replaceState({ page: page.id, request: page.request, depth: page.depth }, "", address.pathname + address.search);
    listen();
  });
})();
