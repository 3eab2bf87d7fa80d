// The timeline, closer and further: bars are put where they lie in the window of time that is shown.
(() => {
  const chart = document.getElementById("timeline");
  if (!chart) return;
  const first = Number(chart.dataset.first), last = Number(chart.dataset.last), least = 1000;
  const told = document.getElementById("window"), axis = [...chart.querySelectorAll(".axis text")];
  const bars = [...chart.querySelectorAll("rect")].map((bar) => [bar, Number(bar.dataset.at), Number(bar.dataset.for)]);
  let from = 0, to = last;

  const time = (ns) => {
    if (ns === 0) return "0";
    const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([one]) => Math.abs(ns) >= one) ?? [1, "ns"];
    const digits = Math.max(0, Math.ceil(-Math.log10((to - from) / 40 / size)));
    return (ns / size).toFixed(Math.min(digits, 9)) + " " + unit;
  };
  const draw = () => {
    const scale = 100 / (to - from);
    for (const [bar, at, length] of bars) {
      const start = Math.max((at - from) * scale, -1), end = Math.min((at + length - from) * scale, 101);
      bar.style.display = end < -0.5 || start > 100.5 ? "none" : "";
      bar.setAttribute("x", start + "%");
      bar.setAttribute("width", Math.max(end - start, 0) + "%");
    }
    axis.forEach((text, part) => { text.textContent = time(from + ((to - from) * part) / 4); });
    told.textContent = from === 0 && to === last ? "" : `${time(from)} to ${time(to)} from the first step's start`;
  };
  const show = (start, length) => {
    length = Math.min(Math.max(length, Math.min(least, last)), last - first);
    from = Math.min(Math.max(start, first), last - length);
    to = from + length;
    draw();
  };
  const zoom = (by, around = 0.5) => {
    const length = (to - from) * by;
    show(from + (to - from) * around - length * around, length);
  };
  const act = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
    ArrowLeft: () => show(from - (to - from) / 4, to - from), ArrowRight: () => show(from + (to - from) / 4, to - from),
    0: () => show(0, last), a: () => show(first, last - first),
  };
  const within = (event) => {
    const box = chart.querySelector("svg").getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  };

  chart.tabIndex = 0;
  chart.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !act[event.key]) return;
    act[event.key]();
    event.preventDefault();
  });
  document.querySelector(".zoom").addEventListener("click", (event) => {
    const pressed = event.target.closest("button");
    if (pressed) act[pressed.value]();
  });
  chart.addEventListener("wheel", (event) => {
    const across = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (across) show(from + ((to - from) * (event.deltaX || event.deltaY)) / 800, to - from);
    else if (event.ctrlKey || document.activeElement === chart) zoom(Math.exp(event.deltaY / 400), within(event));
    else return;
    event.preventDefault();
  }, { passive: false });
  let held = null;
  chart.addEventListener("pointerdown", (event) => {
    held = { at: within(event), from };
    chart.setPointerCapture(event.pointerId);
  });
  chart.addEventListener("pointermove", (event) => {
    if (held) show(held.from + (held.at - within(event)) * (to - from), to - from);
  });
  for (const end of ["pointerup", "pointercancel"]) chart.addEventListener(end, () => { held = null; });
})();
