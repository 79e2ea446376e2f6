/** The client was closed before a call or while it was waiting. */
export class ClientClosed extends Error {
  constructor() {
    super('The client was closed.');
    this.name = 'ClientClosed';
  }
}
