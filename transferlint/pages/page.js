// What every report's page does: theme, filter, keys, links into folded parts, printing. Without scripts it can be read.
(() => {
  const root = document.documentElement;
  const typing = (event) => event.target.matches?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey;

  const theme = document.getElementById("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const tell = () => theme.setAttribute("aria-pressed", dark());
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("transferlint-theme", root.dataset.theme); } catch { /* not kept */ }
    tell();
  });
  system.addEventListener("change", tell);
  tell();

  const unfold = (element) => {
    for (let outer = element?.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (link) unfold(document.getElementById(link.hash.slice(1)));
  });
  unfold(document.getElementById(location.hash.slice(1)));
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open], .keys)")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; });

  for (const filter of document.querySelectorAll(".filter")) {
    const around = document.getElementById(filter.dataset.filter);
    const rows = [...(around?.querySelectorAll("[data-kind]") ?? [])], texts = new Map();
    const words = filter.querySelector("input"), told = filter.querySelector('[role="status"]');
    let kind = "";
    const text = (row) => texts.get(row) ?? (texts.set(row, row.textContent.toLowerCase()), texts.get(row));
    const show = () => {
      const asked = (words?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of rows) {
        row.hidden = (kind !== "" && row.dataset.kind !== kind) || asked.some((word) => !text(row).includes(word));
        if (row.hidden) continue;
        left += 1;
        if (kind !== "" || asked.length) unfold(row);
      }
      if (told) told.textContent = left === rows.length ? "" : `${left} of ${rows.length} shown`;
    };
    filter.addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (!pressed) return;
      kind = pressed.value;
      for (const button of filter.querySelectorAll("button")) button.setAttribute("aria-pressed", button === pressed);
      show();
    });
    words?.addEventListener("input", show);
    walk(rows);
  }

  // j and k go from row to row, and so do the arrows where a row has the focus.
  function walk(rows) {
    if (!rows.length) return;
    for (const row of rows) row.tabIndex = -1;
    rows[0].tabIndex = 0;
    document.addEventListener("keydown", (event) => {
      if (typing(event)) return;
      const at = rows.indexOf(document.activeElement?.closest?.("[data-kind]"));
      const onRow = rows[at] === document.activeElement && at >= 0;
      const by = { j: 1, k: -1, ...(onRow ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
      if (event.key === "Enter" && onRow) rows[at].querySelector("a[href]")?.click();
      if (!by) return;
      const seen = rows.filter((row) => (!row.hidden && !row.closest("details:not([open])")) || row === rows[at]);
      const next = seen[at < 0 ? 0 : Math.min(Math.max(seen.indexOf(rows[at]) + by, 0), seen.length - 1)];
      if (!next) return;
      for (const row of rows) row.tabIndex = row === next ? 0 : -1;
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "nearest" });
      event.preventDefault();
    });
  }

  const field = document.querySelector('.filter input, input[type="search"]');
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target === field) {
      field.value = "";
      field.dispatchEvent(new Event("input"));
      field.blur();
    }
    if (typing(event)) return;
    if (event.key === "/" && field) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "?") {
      const keys = document.querySelector(".keys");
      keys.open = !keys.open;
    }
  });
})();
