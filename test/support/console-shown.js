/**
 * The content of a console page, as lines, and the acts of a person in it without a mouse: a page
 * in the background draws so seldom that the checks of the driver before a click would take long.
 */

const textOf = (element) => element?.textContent.replace(/\s+/g, ' ').trim() ?? '';
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const partOf = (name, texts) => (texts.length === 0 ? '' : ` | ${name}: ${texts.join(', ')}`);

/** Requests that the page waits for. Streams of events are never answered as a whole. */
let requests = 0;
const send = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  if (String(input.url ?? input).includes('/v1/realtime/')) return send(input, init);
  requests += 1;
  try {
    return await send(input, init);
  } finally {
    requests -= 1;
  }
};

function rowOf(row) {
  const marks = all('.inbox-row-mark', row).map(textOf);
  const count = textOf(row.querySelector('.inbox-row-count .hidden-visually'));
  return [
    textOf(row.querySelector('.inbox-row-title')),
    row.querySelector('time')?.dateTime ?? '',
    textOf(row.querySelector('.inbox-row-last')),
    partOf('marks', marks),
    partOf('lane', all('.inbox-row-lane', row).map(textOf)),
    count === '' ? '' : ` | ${count}`,
    row.dataset.open === 'true' ? ' | open' : '',
  ].join(' ');
}

/** Returns a draft. No other page knows why an act of the page itself has failed. */
function draftOf(card) {
  const copy = card.cloneNode(true);
  for (const problem of all('.problem', copy)) problem.remove();
  return textOf(copy);
}

/**
 * Returns a message. Its label has author, time and text. Name and picture are left out: a row has
 * them or not by what stood above it when the conversation was opened, like the unread line.
 */
function messageOf(row) {
  const look = [...row.classList].filter((name) => !UNLIKE.has(name)).join(' ');
  return [
    row.dataset.message,
    look,
    row.ariaLabel ?? '',
    partOf('quote', all('.message-quote', row).map(textOf)),
    partOf(
      'body',
      all('.message-body, .message-gone, .message-writing, .message-service p', row).map(textOf),
    ),
    partOf('service', row.matches('.message-service') ? [textOf(row)] : []),
    partOf('marks', all('.message-marks span', row).map(textOf)),
    partOf(
      'reactions',
      all('.message-reaction', row).map(
        (one) => `${one.ariaLabel}${one.ariaPressed === 'true' ? ' (own)' : ''}`,
      ),
    ),
    partOf('thread', all('.message-thread', row).map(textOf)),
    partOf('delivery', all('.message-pending, .message-failed', row).map(textOf)),
    partOf('readers', all('.read-by .hidden-visually', row).map(textOf)),
  ].join(' ');
}

const UNLIKE = new Set(['message', 'message-first', 'message-continues', 'message-found']);

const setText = (field, text) => {
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(field, text);
  field.dispatchEvent(new InputEvent('input', { bubbles: true }));
};

globalThis.shown = {
  /** Returns every part of the page by name; messages last first, since pages have loaded some. */
  parts() {
    const lines = (selector) => all(selector).map(textOf);
    return {
      title: [document.title],
      banner: lines('.banner-text'),
      bell: all('.bell').map(({ ariaLabel }) => ariaLabel),
      badges: lines('.side-bar-part'),
      views: lines('.inbox-views > *'),
      inbox: [...all('.inbox-row').map(rowOf), ...lines('.inbox-list-none')],
      head: [
        ...lines('.conversation-title > *'),
        ...all('.conversation-head button').map((one) => one.ariaLabel ?? textOf(one)),
      ],
      hold: lines('.hold-banner'),
      ended: lines('.timeline-empty'),
      messages: all('.timeline-rows [data-message]').map(messageOf).toReversed(),
      typing: lines('.typing-line').filter((text) => text !== ''),
      drafts: all('.draft-card').map(draftOf),
      scheduled: lines('.scheduled-list summary, .scheduled-row'),
      refused: lines('.conversation .composer-refused'),
      thread: lines('.thread-pane-count, .side-pane-empty'),
      replies: all('.thread-pane [data-message]').map(messageOf).toReversed(),
      // The words for a member's read position differ if the message is not loaded.
      details: lines(
        '.side-pane[aria-label="Details"] :is(h3, p:not(.problem), li:not(.readers > li), dt, dd)',
      ),
    };
  },

  /** Returns whether no request is open, and nothing waits to be sent. */
  isQuiet() {
    const isLive = textOf(document.querySelector('.banner-title')) === 'Live';
    const isLoading = all('.inbox-list-loading, .session-wait, .message-pending').length > 0;
    return isLive && requests === 0 && !isLoading;
  },

  /** Clicks the match that a number from 0 to 1 picks. Returns its name, or null. */
  click(selector, chance) {
    const found = all(selector).filter((one) => !one.disabled);
    const one = found[Math.floor(chance * found.length)];
    one?.click();
    return one === undefined ? null : one.ariaLabel || textOf(one).slice(0, 40);
  },

  /** Presses a key on the match that a number picks. Returns whether there is one. */
  press(selector, key, chance) {
    const found = all(selector);
    const one = found[Math.floor(chance * found.length)];
    one?.focus();
    one?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    one?.blur();
    return one !== undefined;
  },

  /** Writes into a field, and sends its form. Returns whether there is one. */
  async write(selector, text) {
    const field = document.querySelector(selector);
    if (field === null) return false;
    setText(field, text);
    // The form knows the text once it was drawn.
    await new Promise((resolve) => setTimeout(resolve));
    field.form.requestSubmit();
    return true;
  },
};
