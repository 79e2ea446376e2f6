import { code, type Html, html, joined, prose } from './html.ts';
import type { SdkName } from './sdk-reference.ts';

/** Converts doc comments to HTML in which names link to their places. */
export class CommentTexts {
  /** Anchors by the spelling of names. */
  readonly #places = new Map<string, string>();

  constructor(names: readonly SdkName[]) {
    for (const { anchor, name, members } of names) {
      if (!this.#places.has(name)) this.#places.set(name, anchor);
      for (const member of members) this.#places.set(`${name}.${member.name}`, member.anchor);
    }
  }

  /** Returns the first sentence, without links, because a click on it opens the rest. */
  sentence(doc: string): Html {
    const [first = ''] = /^[\s\S]*?\.(?=\s|$)/.exec(doc) ?? [doc];
    return prose(first);
  }

  /** Returns the text. Members of `owner` stand in code by their own names. */
  paragraphs(doc: string, owner: string): Html[] {
    const inside = (text: string) => {
      const name = text.replace(/\(.*\)$/, '');
      return this.#linked(text, this.#places.get(`${owner}.${name}`) ?? this.#places.get(name));
    };
    const outside = (text: string) =>
      joined(
        text
          .split(MEMBER)
          .map((part, i) => (i % 2 === 1 && this.#places.has(part) ? inside(part) : html`${part}`)),
      );
    const paragraphs = doc.split('\n\n').filter((paragraph) => paragraph !== '');
    return paragraphs.map((paragraph) => html`<p>${prose(paragraph, inside, outside)}</p>`);
  }

  #linked(text: string, anchor: string | undefined): Html {
    return anchor === undefined ? code(text) : html`<a href="#${anchor}">${code(text)}</a>`;
  }
}

/** A member of a class in plain text, such as Client.send. */
const MEMBER = /\b([A-Z]\w+\.[a-z]\w+)\b/;
