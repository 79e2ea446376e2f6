import type { AttachmentInput } from '@parley/protocol/resources/chat-message.ts';
import type { LiveConversation } from '../conversation/live-conversation.ts';

/** A file that was chosen for the next message. */
export interface ChosenFile {
  /** Names it among the files of a message. */
  readonly key: number;
  /** The file. */
  readonly file: File;
  /** The address of a picture in this page; null for other files. */
  readonly previewUrl: string | null;
  /** From 0 to 1. */
  readonly progress: number;
  /** The message's reference to the file, once it is uploaded. */
  readonly attachment?: AttachmentInput;
  /** The reason why it was not uploaded. */
  readonly problem?: string;
  /** Whether no further try can upload it. */
  readonly isRefused?: true;
}

export type Upload = LiveConversation['upload'];

/** The files that a page takes, and its words about others. */
export interface UploadRules {
  /** The most files of a message. */
  readonly most: number;
  /** Returns why a file is not uploaded at all; undefined if it is. */
  refusalOf(file: File): string | undefined;
  /** Returns why an upload has failed. */
  problemOf(error: unknown): string;
}

/** The files that were chosen for the next message, which are uploaded at once. */
export class Uploads {
  #files: readonly ChosenFile[] = [];
  readonly #aborters = new Map<number, AbortController>();
  readonly #listeners = new Set<() => void>();
  #lastKey = 0;
  /** The rules for later calls. */
  rules: UploadRules;

  constructor(rules: UploadRules) {
    this.rules = rules;
  }

  readonly follow = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly files = (): readonly ChosenFile[] => this.#files;

  /** Returns how many files were left out, because a message cannot have more. */
  add(files: readonly File[], upload: Upload): number {
    const room = this.rules.most - this.#files.length;
    for (const file of files.slice(0, room)) {
      this.#lastKey += 1;
      const previewUrl = file.type.startsWith('image/') ? URL.createObjectURL(file) : null;
      const chosen: ChosenFile = { key: this.#lastKey, file, previewUrl, progress: 0 };
      this.#set([...this.#files, chosen]);
      const problem = this.rules.refusalOf(file);
      if (problem !== undefined) this.#change(chosen.key, { problem, isRefused: true });
      else void this.#upload(chosen, upload);
    }
    return Math.max(0, files.length - room);
  }

  retry(key: number, upload: Upload): void {
    const found = this.#files.find((one) => one.key === key);
    if (found?.problem === undefined || found.isRefused) return;
    const { problem: _, ...again } = { ...found, progress: 0 };
    this.#set(this.#files.map((one) => (one.key === key ? again : one)));
    void this.#upload(again, upload);
  }

  remove(key: number): void {
    this.#aborters.get(key)?.abort();
    this.#aborters.delete(key);
    const gone = this.#files.find((one) => one.key === key);
    if (typeof gone?.previewUrl === 'string') URL.revokeObjectURL(gone.previewUrl);
    this.#set(this.#files.filter((one) => one.key !== key));
  }

  clear(): void {
    for (const { key } of this.#files) this.remove(key);
  }

  async #upload({ key, file }: ChosenFile, upload: Upload): Promise<void> {
    const aborter = new AbortController();
    this.#aborters.set(key, aborter);
    try {
      const attachment = await upload(file, {
        signal: aborter.signal,
        onProgress: ({ sentBytes, totalBytes }) => this.#change(key, { progress: sentBytes / totalBytes }),
      });
      this.#change(key, { progress: 1, attachment });
    } catch (error) {
      if (!aborter.signal.aborted) this.#change(key, { problem: this.rules.problemOf(error) });
    }
  }

  #change(key: number, change: Partial<ChosenFile>): void {
    this.#set(this.#files.map((one) => (one.key === key ? { ...one, ...change } : one)));
  }

  #set(files: readonly ChosenFile[]): void {
    this.#files = files;
    for (const listener of this.#listeners) listener();
  }
}
