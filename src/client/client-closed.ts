/** The client was closed while a call was waiting, or before it. */
export class ClientClosed extends Error {
  constructor() {
    super('The client was closed.');
    this.name = 'ClientClosed';
  }
}
