// One file, since the inbox and the timeline show the same time of a moment.

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/** Returns the time of a moment of today, else the day. */
export function timeOf(text) {
  const at = new Date(text);
  return at.toDateString() === new Date().toDateString() ? TIME.format(at) : DAY.format(at);
}
