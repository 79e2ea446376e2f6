/** A piece of a paragraph. */
export type Inline =
  | TextPart
  | { readonly type: 'break' }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'strong' | 'em' | 'del'; readonly inner: readonly Inline[] }
  | LinkPart;

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  /**
   * Whether it is shown as it is and names no person: an escaped character, the content of `<pre>`.
   */
  readonly isLiteral?: true;
}

export interface LinkPart {
  readonly type: 'link';
  /** An address of the web, or of a mail. */
  readonly href: string;
  readonly title: string | null;
  /** The text of the link, without links in it. */
  readonly inner: readonly Inline[];
}

/** A paragraph, or another part of a text that begins on a line of its own. */
export type Block = {
  /** The source: the same source is the same block. */
  readonly raw: string;
} & (
  | { readonly type: 'paragraph'; readonly inner: readonly Inline[] }
  /** The words of an item of a list whose items are no paragraphs. */
  | { readonly type: 'words'; readonly inner: readonly Inline[] }
  /** `level` is 1 to 6. */
  | { readonly type: 'heading'; readonly level: number; readonly inner: readonly Inline[] }
  | { readonly type: 'quote'; readonly blocks: readonly Block[] }
  | ListBlock
  | { readonly type: 'code'; readonly text: string }
  /** The first row is the head. */
  | { readonly type: 'table'; readonly rows: readonly (readonly (readonly Inline[])[])[] }
  | { readonly type: 'rule' }
  /** Empty lines, one or more. */
  | { readonly type: 'gap'; readonly lines: number }
);

export interface ListBlock {
  readonly raw: string;
  readonly type: 'list';
  /** Whether empty lines stand between the items. */
  readonly isLoose: boolean;
  readonly items: readonly ListItem[];
}

export interface ListItem {
  /** As it was written, or counted where all items have the same one; null without numbers. */
  readonly number: number | null;
  /** Whether a task is done; null for an item that is no task. */
  readonly isDone: boolean | null;
  readonly blocks: readonly Block[];
}
