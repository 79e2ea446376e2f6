/** Functions that timeline.test.ts calls in a page as `timeline`. */

const box = () => document.querySelector('.timeline-scroll');
const rows = () => [...box().querySelectorAll('[data-message]')];
const idOf = (row) => row?.getAttribute('data-message') ?? null;
const topOf = (row) => (row?.getBoundingClientRect().top ?? Number.NaN) - box().getBoundingClientRect().top;
let tasks = [];

globalThis.timeline = {
  lines() {
    return [...document.querySelector('.timeline-rows').children].flatMap((line) => {
      const of = (selector) => line.querySelector(selector)?.textContent ?? '';
      const text = line.textContent;
      if (!line.matches('.message')) return text === '' ? [] : [text.charAt(0).toUpperCase() + text.slice(1)];
      const name = of('.message-name');
      return `${name === '' ? '+ ' : `${name}: `}${of('.markdown')}`;
    });
  },

  placeOf(id) {
    const all = rows();
    const { clientHeight, scrollHeight, scrollTop } = box();
    return {
      top: topOf(all.find((one) => idOf(one) === id)),
      height: clientHeight,
      first: idOf(all[0]),
      last: idOf(all.at(-1)),
      rows: all.length,
      isAtEnd: scrollHeight - scrollTop - clientHeight < 2,
    };
  },

  scrollUp() {
    const first = idOf(rows()[0]);
    box().scrollTop = 200;
    const row = rows().find((one) => topOf(one) >= 0);
    return { id: idOf(row), top: topOf(row), first };
  },

  /** Scrolls up, and changes the height of the list before the page hears of the scrolling. */
  async scrollUpWhileGrowing() {
    await this.frames(1);
    box().scrollTop = 200;
    const list = document.querySelector('.timeline-rows');
    list.style.minHeight = `${list.offsetHeight + 1}px`;
  },

  scrollDown() {
    box().scrollTop = box().scrollHeight - box().clientHeight - 100;
  },

  async frames(count) {
    for (let n = 0; n < count; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
  },

  watchTasks() {
    tasks = [];
    const note = (list) => tasks.push(...list.getEntries().map(({ duration }) => Math.round(duration)));
    new PerformanceObserver(note).observe({ entryTypes: ['longtask'] });
  },

  longTasks: () => tasks,
};
