/** What a session needs of a WebSocket; uWebSockets.js's own object is one. */
export interface Wire {
  /** 1 sent, 0 queued, 2 dropped. */
  send(bytes: Buffer, isBinary: boolean): number;
  /** What `work` sends leaves together. */
  cork(work: () => void): unknown;
  /** Sends a close frame; calls the close handler before it returns. */
  end(code: number, reason: string): void;
  /** Without a close frame, what is queued thrown away. */
  close(): void;
  getBufferedAmount(): number;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  isSubscribed(topic: string): boolean;
  getTopics(): string[];
}
