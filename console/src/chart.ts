// Values of a chart beside the pointer, or at an interval that the arrow keys choose. Without the script browsers show
// the title of an interval, and the table has all values.

let tip: HTMLElement | undefined;
let shown: SVGElement | undefined; // the interval whose value is shown
let point = { x: 0, y: 0 }; // where, on the whole page

const intervals = (chart: Element) => Array.from(chart.querySelectorAll<SVGElement>(".over"));

// text returns the value of an interval. The title goes into the interval, since a browser would show it, too.
const text = (interval: SVGElement): string => {
  const title = interval.querySelector("title");
  if (title) {
    interval.dataset.value = title.textContent ?? "";
    title.remove();
  }
  return interval.dataset.value ?? "";
};

const hide = (): void => {
  shown?.classList.remove("at");
  shown = undefined;
  tip?.setAttribute("hidden", "");
};

// show shows the value of an interval at the point, on the side where there is place for it.
const show = (interval: SVGElement): void => {
  if (shown !== interval) {
    hide();
  }
  if (!tip) {
    tip = document.createElement("div");
    tip.id = "value";
    tip.setAttribute("aria-hidden", "true");
    document.body.append(tip);
  }
  shown = interval;
  interval.classList.add("at");
  const value = text(interval);
  if (tip.textContent !== value) {
    tip.textContent = value;
  }
  tip.removeAttribute("hidden");
  const gap = 14;
  const beyond = scrollX + document.documentElement.clientWidth - tip.offsetWidth - 4;
  const right = point.x + gap;
  tip.style.left = `${Math.max(scrollX + 4, right <= beyond ? right : point.x - gap - tip.offsetWidth)}px`;
  tip.style.top = `${Math.max(scrollY + 4, point.y - gap - tip.offsetHeight)}px`;
};

// choose shows the value of an interval that was chosen with the keyboard, and has it read out.
const choose = (interval?: SVGElement): void => {
  if (!interval) {
    return;
  }
  const { left, top, width, height } = interval.getBoundingClientRect();
  point = { x: scrollX + left + width / 2, y: scrollY + top + height / 2 };
  show(interval);
  const said = document.querySelector("#said");
  if (said) {
    said.textContent = text(interval);
  }
};

const overInterval = (event: Event): SVGElement | undefined => {
  const at = event.target;
  return at instanceof SVGElement && at.matches(".plot .over") ? at : undefined;
};

const move = (event: PointerEvent): void => {
  const interval = overInterval(event);
  if (interval) {
    point = { x: event.pageX, y: event.pageY };
    show(interval);
  } else if (shown && event.pointerType !== "touch") {
    hide();
  }
};

const press = (event: KeyboardEvent): void => {
  const chart = document.activeElement;
  if (event.key === "Escape") {
    hide();
  }
  if (!chart?.matches(".plot > svg") || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const all = intervals(chart);
  const at = shown ? all.indexOf(shown) : -1;
  const to: Record<string, number> = {
    ArrowLeft: at < 0 ? all.length - 1 : Math.max(0, at - 1), ArrowRight: Math.min(all.length - 1, at + 1), Home: 0,
    End: all.length - 1,
  };
  const next = to[event.key];
  if (next !== undefined) {
    event.preventDefault();
    choose(all[next]);
  }
};

// renew shows the new value of an interval that an update of the page has changed.
const renew = (): void => {
  if (shown?.isConnected) {
    show(shown);
  } else {
    hide();
  }
};

// begin listens to the pointer and the keyboard.
export const begin = (): void => {
  document.addEventListener("htmx:after:swap", renew);
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerdown", move);
  document.addEventListener("pointerdown", (event) => overInterval(event) ?? hide());
  document.documentElement.addEventListener("pointerleave", hide);
  document.addEventListener("keydown", press);
  document.addEventListener("focusin", (event) => {
    const chart = event.target as Element;
    if (chart.matches(".plot > svg") && chart.matches(":focus-visible")) {
      choose(intervals(chart).at(-1));
    }
  });
  document.addEventListener("focusout", (event) => {
    if ((event.target as Element).matches(".plot > svg")) {
      hide();
    }
  });
};
