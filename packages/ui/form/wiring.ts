/** The ids that connect a control with its label, its help and its problem. */
export interface Wiring {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}
