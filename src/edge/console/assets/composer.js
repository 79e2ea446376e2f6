import { button, element } from './element.js';

/** The form for a message: text, files and, on a case, the choice of its readers. */
export class Composer {
  constructor(person, conversation, { isTeam, hints, report }) {
    this.conversation = conversation;
    this.report = report;
    this.files = new Set();
    const { key, name } = person;
    this.input = element('input', {
      type: 'text',
      name: 'text',
      autocomplete: 'off',
      'aria-label': `Message of ${name}`,
      placeholder: 'Write a message',
      oninput: () => conversation.typing(this.input.value !== ''),
    });
    this.audience = element(
      'select',
      {
        name: 'audience',
        'aria-label': `Who reads the message of ${name}`,
        hidden: true,
        onchange: () => this.showAudience(),
      },
      // The first option is the default, because a note by mistake stays in the team.
      element('option', { value: 'internal' }, 'Note to the team'),
      element('option', { value: 'customer' }, 'Reply to the customer'),
    );
    this.button = element('button', { type: 'submit', class: 'send' }, 'Send');
    this.picker = element('input', {
      type: 'file',
      class: 'hidden',
      multiple: true,
      'aria-label': `Files of ${name}`,
      onchange: () => this.addFiles(),
    });
    this.list = element('ul', { class: 'uploads', 'aria-label': 'Files to send', hidden: true });
    const hint = (text) => button(() => this.send({ body: text }), { class: 'hint' }, text);
    this.root = element(
      'div',
      { class: 'composer' },
      hints.length === 0 ? undefined : element('p', { class: 'hints' }, ...hints.map(hint)),
      this.list,
      element(
        'form',
        { onsubmit: (event) => this.submit(event), id: `${key}-form` },
        this.audience,
        isTeam ? this.attachButton() : undefined,
        this.input,
        this.button,
      ),
    );
  }

  /** Customers have no such button, because they cannot upload. */
  attachButton() {
    return element(
      'label',
      { class: 'attach', title: 'Attach files' },
      element('span', { class: 'icon clip', 'aria-hidden': 'true' }),
      this.picker,
    );
  }

  chooseAudience(isCase) {
    this.audience.hidden = !isCase;
    this.showAudience();
  }

  /** Shows by colour and words which readers the text will have. */
  showAudience() {
    const isCase = !this.audience.hidden;
    const isNote = isCase && this.audience.value === 'internal';
    this.root.classList.toggle('note', isNote);
    this.input.placeholder = isNote ? 'Write a note' : isCase ? 'Write to the customer' : 'Write a message';
    this.button.textContent = isNote ? 'Add note' : isCase ? 'Send reply' : 'Send';
  }

  submit(event) {
    event.preventDefault();
    const ready = [...this.files].flatMap(({ attachment }) => attachment ?? []);
    const body = this.input.value;
    if (body.trim() === '' && ready.length === 0) return;
    this.input.value = '';
    for (const file of this.files) if (file.attachment !== undefined) this.remove(file);
    this.send({
      ...(body.trim() === '' ? {} : { body }),
      ...(ready.length === 0 ? {} : { attachments: ready }),
      ...(this.audience.hidden ? {} : { audience: this.audience.value }),
    });
  }

  /** Ignores a rejection, because the view shows it. */
  send(body) {
    this.conversation.send(body).catch(() => {});
  }

  addFiles() {
    for (const file of this.picker.files) void this.upload(file);
    this.picker.value = '';
  }

  async upload(file) {
    const aborter = new AbortController();
    const progress = element('progress', { max: '1', value: '0', 'aria-label': `Uploading ${file.name}` });
    const entry = { aborter, attachment: undefined };
    const label = `Remove ${file.name}`;
    const remove = button(() => this.remove(entry), { class: 'quiet', 'aria-label': label }, '✕');
    entry.row = element('li', { class: 'upload' }, file.name, ' ', progress, remove);
    this.files.add(entry);
    this.list.append(entry.row);
    this.list.hidden = false;
    try {
      entry.attachment = await this.conversation.upload(file, {
        signal: aborter.signal,
        onProgress: ({ sentBytes, totalBytes }) => {
          progress.value = sentBytes / totalBytes;
        },
      });
      progress.remove();
    } catch (error) {
      this.remove(entry);
      if (!aborter.signal.aborted) this.report(error);
    }
  }

  remove(entry) {
    entry.aborter.abort();
    entry.row.remove();
    this.files.delete(entry);
    this.list.hidden = this.files.size === 0;
  }

  focus() {
    this.input.focus();
  }
}
