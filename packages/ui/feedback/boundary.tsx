import { Component, type ComponentChildren } from 'preact';

export interface BoundaryProps {
  /** Shown in place of the children once drawing them has failed. */
  readonly instead: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Keeps an error within one part of a page. Without it, Preact draws no part. */
export class Boundary extends Component<BoundaryProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static override getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override render({ instead, children }: BoundaryProps) {
    return this.state.hasFailed ? instead : children;
  }
}
