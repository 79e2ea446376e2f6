/** The part of a WebSocket that a session needs; uWebSockets.js's own object implements it. */
export interface Wire {
  /** 1 sent, 0 queued, 2 dropped. */
  send(bytes: Buffer, isBinary: boolean): number;
  /** Sends everything that `work` sends together. */
  cork(work: () => void): unknown;
  /** Sends a close frame; calls the close handler before it returns. */
  end(code: number, reason: string): void;
  /** Closes without a close frame and discards queued bytes. */
  close(): void;
  getBufferedAmount(): number;
  subscribe(topic: string): boolean;
  unsubscribe(topic: string): boolean;
  isSubscribed(topic: string): boolean;
  getTopics(): string[];
}
