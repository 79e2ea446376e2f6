import { Approvals } from './approvals.js';
import { Bell } from './bell.js';
import { element } from './element.js';
import { Timeline } from './timeline.js';

/** One person with that person's conversations: `places` are {id, title, names, hints, toCustomer}. */
export class Pane {
  constructor(person, { places, names, agentId }) {
    this.person = person;
    this.names = names;
    this.error = element('p', { class: 'error', role: 'alert' });
    this.report = (error) => {
      this.error.textContent = error.message;
    };
    this.state = element('span', { class: 'state', 'data-state': 'connecting' }, 'connecting');
    person.client.on('state', (state) => this.showState(state));
    person.client.on('error', ({ message, willRetry }) => {
      if (!willRetry) this.error.textContent = message;
    });
    const isTeam = agentId !== undefined;
    this.bell = isTeam ? new Bell(person, this.report) : undefined;
    this.approvals = isTeam ? new Approvals(person, agentId, this.report) : undefined;
    this.places = places.map((place) => this.open(place));
    this.tabs = element('div', {
      role: 'tablist',
      class: 'tabs',
      'aria-label': `Conversations of ${person.name}`,
    });
    if (places.length > 1) this.tabs.append(...this.places.map(({ tab }) => tab));
    this.root = element(
      'section',
      { class: 'pane', id: person.key, 'aria-labelledby': `${person.key}-name` },
      this.head(),
      ...(this.bell === undefined ? [] : [this.bell.list]),
      ...(places.length > 1 ? [this.tabs] : []),
      ...this.places.map(({ panel }) => panel),
      this.error,
    );
    this.choose(this.places[0]);
    for (const part of [this.bell, this.approvals]) part?.ready.catch(this.report);
    if (isTeam) person.client.request('presence', { status: 'online' }).catch(this.report);
  }

  head() {
    const { key, name, detail } = this.person;
    return element(
      'div',
      { class: 'head' },
      element('span', { class: 'face', 'aria-hidden': 'true' }, name[0]),
      element('h2', { id: `${key}-name` }, name, ' ', element('small', {}, detail)),
      this.state,
      ...(this.bell === undefined ? [] : [this.bell.button]),
    );
  }

  showState(state) {
    this.state.textContent = state.replace('_', ' ');
    this.state.dataset.state = state;
    if (state === 'live') this.error.textContent = '';
  }

  open(place) {
    const { key, client, id } = this.person;
    const opened = { ...place, present: new Map(), typing: new Map(), news: 0 };
    opened.timeline = new Timeline(`${place.title}, as ${this.person.name} sees it`, id, place.toCustomer);
    opened.status = element('p', { class: 'status' });
    opened.badge = element('span', { class: 'count' });
    const ids = { tab: `${key}-${place.key}-tab`, panel: `${key}-${place.key}` };
    opened.tab = element(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: ids.tab,
        'aria-controls': ids.panel,
        onclick: () => this.choose(opened),
        onkeydown: (event) => this.moveTab(event),
      },
      place.title,
      opened.badge,
    );
    opened.panel = element(
      'div',
      {
        class: 'place',
        id: ids.panel,
        ...(place.alone ? {} : { role: 'tabpanel', 'aria-labelledby': ids.tab }),
      },
      opened.timeline.list,
      ...(place.withApprovals ? [this.approvals.box] : []),
      opened.status,
      this.composer(opened),
    );
    client.subscribe(place.id, {
      backlog: 30,
      onMessage: (message) => this.receive(opened, message),
      onUpdate: (message) => opened.timeline.show(message),
      onPurged: (through) => opened.timeline.drop(through),
      onStreaming: (writing) => opened.timeline.write(writing),
      onEvent: (event) => this.follow(opened, event),
      onEnd: (why) => this.end(opened, why),
    });
    return opened;
  }

  /** What was readable is shown no longer. */
  end(opened, why) {
    opened.timeline.drop(Number.POSITIVE_INFINITY);
    this.report(why === 'revoked' ? new Error('No longer readable.') : why);
  }

  receive(opened, message) {
    opened.timeline.show(message);
    if (message.sender !== null) this.showTyping(opened, message.sender.id, 'stop');
    const isLive = this.person.client.state === 'live';
    if (opened !== this.chosen && isLive) opened.news += 1;
    this.showBadge(opened);
  }

  follow(opened, { event, data }) {
    if (event === 'presence') opened.present.set(data.actor_id, data.status);
    if (event === 'typing') this.showTyping(opened, data.actor_id, data.state);
    this.showStatus(opened);
  }

  /** Readers end an indicator themselves 8 s after the last start. */
  showTyping(opened, actorId, state) {
    clearTimeout(opened.typing.get(actorId));
    opened.typing.delete(actorId);
    if (state === 'start' && actorId !== this.person.id) {
      const over = setTimeout(() => this.showTyping(opened, actorId, 'stop'), 8_000);
      opened.typing.set(actorId, over);
    }
    this.showStatus(opened);
  }

  showStatus({ status, typing, present }) {
    const name = (id) => this.names[id] ?? 'Somebody';
    const writers = [...typing.keys()].map(name);
    const there = [...present].filter(([id, state]) => state !== 'offline' && id !== this.person.id);
    const people = there.map(([id, state]) => `${name(id)} is ${state}`);
    const text = writers.length > 0 ? `${writers.join(' and ')} typing…` : people.join(' · ');
    status.classList.toggle('typing', writers.length > 0);
    if (status.textContent !== text) status.textContent = text;
  }

  composer(opened) {
    const { key, name } = this.person;
    const input = element('input', {
      type: 'text',
      name: 'text',
      autocomplete: 'off',
      'aria-label': `Message of ${name}`,
      placeholder: opened.placeholder,
      oninput: () => this.type(opened, input.value),
    });
    const audience = element(
      'select',
      { name: 'audience', 'aria-label': `Who reads the message of ${name}` },
      element('option', { value: 'customer' }, 'To the customer'),
      element('option', { value: 'internal' }, 'Note to the team'),
    );
    const hints = (opened.hints ?? []).map((hint) =>
      element(
        'button',
        { type: 'button', class: 'hint', onclick: () => this.send(opened, { body: hint }).catch(() => {}) },
        hint,
      ),
    );
    const submit = (event) => {
      event.preventDefault();
      if (input.value.trim() === '') return;
      const body = { body: input.value, ...(opened.toCustomer ? { audience: audience.value } : {}) };
      input.value = '';
      this.send(opened, body).catch(() => {
        input.value = body.body;
      });
    };
    return element(
      'div',
      { class: 'composer' },
      ...(hints.length === 0 ? [] : [element('p', { class: 'hints' }, ...hints)]),
      element(
        'form',
        { onsubmit: submit, id: `${key}-${opened.key}-form` },
        ...(opened.toCustomer ? [audience] : []),
        input,
        element('button', { type: 'submit', class: 'send' }, 'Send'),
      ),
    );
  }

  async send(opened, body) {
    opened.typedAt = undefined;
    try {
      await this.person.client.send(opened.id, body);
    } catch (error) {
      this.report(error);
      throw error;
    }
  }

  /** Repeats `start` every few seconds while the person goes on typing. */
  type(opened, text) {
    const now = Date.now();
    const state = text === '' ? 'stop' : 'start';
    if (state === 'start' && now - (opened.typedAt ?? 0) < 3_000) return;
    opened.typedAt = state === 'start' ? now : undefined;
    this.person.client.request('typing', { conversation_id: opened.id, state }).catch(() => {});
  }

  choose(opened) {
    this.chosen = opened;
    opened.news = 0;
    for (const one of this.places) {
      const isChosen = one === opened;
      one.panel.hidden = !isChosen;
      one.tab.setAttribute('aria-selected', String(isChosen));
      one.tab.tabIndex = isChosen ? 0 : -1;
    }
    this.showBadge(opened);
    opened.timeline.toEnd();
  }

  moveTab({ key, currentTarget }) {
    if (key !== 'ArrowLeft' && key !== 'ArrowRight') return;
    const index = this.places.findIndex(({ tab }) => tab === currentTarget);
    const next =
      this.places[(index + (key === 'ArrowRight' ? 1 : this.places.length - 1)) % this.places.length];
    this.choose(next);
    next.tab.focus();
  }

  showBadge({ badge, news }) {
    badge.textContent = news === 0 ? '' : String(news);
    badge.setAttribute('aria-label', `${news} new`);
    badge.hidden = news === 0;
  }
}
