// a moving arm on a canvas: triangles with a depth buffer, smooth shading, a shadow on the floor
const FIELD = 0.55, FILLED = 0.94, MOST_PIXELS = 2.4e6; // rad, share of the canvas, of its drawing
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const plus = (a, b, s) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const unit = (a) => { const s = Math.hypot(...a) || 1; return a.map((x) => x / s); };
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
const numbers = ([scale, text]) => Float32Array.from(new Int16Array(bytes(text)), (x) => x * scale);
const rgb = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));

class Arm {
  constructor(element) {
    const data = JSON.parse(element.querySelector("script").textContent);
    this.canvas = element.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.sheet = document.createElement("canvas");
    this.up = data.up, this.foot = data.foot, this.reach = data.reach;
    this.start = data.start, this.seconds = data.seconds, this.speed = data.speed;
    this.moves = data.moves.map(numbers);
    this.count = this.moves[0].length / 12;
    this.trail = data.trail ? numbers(data.trail) : [];
    this.trailColour = rgb(data.trailColour || "#000000");
    this.outline = numbers(data.outline);
    this.parts = data.parts.map((p) => {
      const v = numbers(p.v), f = new Uint16Array(bytes(p.f));
      return {v, f, n: normals(v, f), move: p.move, colour: rgb(p.colour), place: new Float32Array(v.length),
        light: new Float32Array(v.length / 3), flat: new Float32Array(v.length)};
    });
    this.side = data.side, this.front = data.front, this.turn = data.turn, this.tilt = data.tilt;
    const aside = [Math.cos(this.turn - 0.9), Math.sin(this.turn - 0.9)]; // of the eye
    this.lamp = unit(plus(plus(this.up, this.side, 0.65 * aside[0]), this.front, 0.65 * aside[1]));
    this.time = 0;
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    const fine = Math.min(Math.max(2, devicePixelRatio), Math.sqrt(MOST_PIXELS / (box.width * box.height + 1)));
    const w = Math.max(2, Math.round(box.width * fine)), h = Math.max(2, Math.round(box.height * fine));
    if (w === this.w && h === this.h) return;
    this.w = this.canvas.width = this.sheet.width = w;
    this.h = this.canvas.height = this.sheet.height = h;
    this.fine = fine;
    this.image = this.sheet.getContext("2d").createImageData(w, h);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.depth = new Float32Array(w * h);
  }

  look() { // the axes of the view, and a distance from which all of the motion is in it
    const level = plus(this.side.map((x) => x * Math.cos(this.turn)), this.front, Math.sin(this.turn));
    this.back = plus(level.map((x) => x * Math.cos(this.tilt)), this.up, Math.sin(this.tilt));
    this.right = unit(cross(this.up, this.back));
    this.above = cross(this.back, this.right);
    const tall = Math.tan(FIELD / 2) * FILLED, wide = tall * this.w / this.h;
    const list = [];
    for (let k = 0; k < this.outline.length; k += 3) list.push(this.outline.subarray(k, k + 3));
    const middle = (axis) => {
      const all = list.map((p) => dot(p, axis));
      return (Math.min(...all) + Math.max(...all)) / 2;
    };
    this.centre = [0, 0, 0];
    for (const axis of [this.right, this.above, this.back]) this.centre = plus(this.centre, axis, middle(axis));
    let far = 0;
    for (const p of list) {
      const d = plus(p, this.centre, -1), z = dot(d, this.back);
      far = Math.max(far, Math.abs(dot(d, this.right)) / wide + z, Math.abs(dot(d, this.above)) / tall + z);
    }
    this.far = far;
    this.focus = this.h / 2 / Math.tan(FIELD / 2);
    this.eye = plus(this.centre, this.back, far);
  }

  project(p, into, k) {
    const x = p[0] - this.eye[0], y = p[1] - this.eye[1], z = p[2] - this.eye[2], b = this.back;
    const s = this.focus / -(x * b[0] + y * b[1] + z * b[2]);
    into[k] = this.w / 2 + s * (x * this.right[0] + y * this.right[1] + z * this.right[2]);
    into[k + 1] = this.h / 2 - s * (x * this.above[0] + y * this.above[1] + z * this.above[2]);
    into[k + 2] = s; // grows towards the eye, and is linear on the screen
  }

  floor() {
    const c = this.context, step = this.reach / 4, half = 5, a = [0, 0, 0], b = [0, 0, 0];
    c.clearRect(0, 0, this.w, this.h);
    c.strokeStyle = getComputedStyle(this.canvas).color;
    c.globalAlpha = 0.16;
    c.lineWidth = this.fine;
    c.beginPath();
    for (let k = -half; k <= half; k++) {
      for (const [one, other] of [[this.side, this.front], [this.front, this.side]]) {
        const at = plus(this.foot, one, k * step);
        this.project(plus(at, other, -half * step), a, 0);
        this.project(plus(at, other, half * step), b, 0);
        c.moveTo(a[0], a[1]);
        c.lineTo(b[0], b[1]);
      }
    }
    c.stroke();
    c.globalAlpha = 1;
  }

  pose(part) { // vertices on the screen, their light, and their shadow
    const at = this.time / this.seconds * (this.count - 1), move = this.moves[part.move];
    const k = Math.min(Math.floor(at), this.count - 2), s = at - k, T = new Array(12);
    for (let i = 0; i < 12; i++) T[i] = (1 - s) * move[12 * k + i] + s * move[12 * k + 12 + i];
    const {v, n} = part, p = [0, 0, 0], height = dot(this.foot, this.up), lamp = this.lamp, fall = dot(lamp, this.up);
    for (let i = 0; i < v.length; i += 3) {
      for (let r = 0; r < 3; r++) p[r] = T[4 * r] * v[i] + T[4 * r + 1] * v[i + 1] + T[4 * r + 2] * v[i + 2] + T[4 * r + 3];
      this.project(p, part.place, i);
      let lit = 0, facing = 0;
      for (let r = 0; r < 3; r++) {
        const m = T[4 * r] * n[i] + T[4 * r + 1] * n[i + 1] + T[4 * r + 2] * n[i + 2];
        lit += m * lamp[r];
        facing += m * this.back[r];
      }
      part.light[i / 3] = 0.42 + 0.46 * Math.max(0, lit) + 0.22 * Math.max(0, facing);
      const drop = (dot(p, this.up) - height) / fall;
      this.project(plus(p, lamp, -drop), part.flat, i);
    }
  }

  fill(points, part, shadow) {
    const {f, light, colour} = part, {w, h, pixels, depth} = this, dark = 0x26000000;
    for (let t = 0; t < f.length; t += 3) {
      const a = 3 * f[t], b = 3 * f[t + 1], c = 3 * f[t + 2];
      const ax = points[a], ay = points[a + 1], bx = points[b], by = points[b + 1], cx = points[c], cy = points[c + 1];
      const area = (bx - ax) * (ay - cy) - (ay - by) * (cx - ax);
      if (!(shadow ? area !== 0 : area > 0)) continue; // turned away from the eye
      const left = Math.max(0, Math.ceil(Math.min(ax, bx, cx))), right = Math.min(w - 1, Math.floor(Math.max(ax, bx, cx)));
      const top = Math.max(0, Math.ceil(Math.min(ay, by, cy))), bottom = Math.min(h - 1, Math.floor(Math.max(ay, by, cy)));
      const za = points[a + 2], zb = points[b + 2], zc = points[c + 2], la = light[a / 3], lb = light[b / 3], lc = light[c / 3];
      for (let y = top; y <= bottom; y++) {
        for (let x = left, here = y * w + left; x <= right; x++, here++) {
          const u = ((x - ax) * (ay - cy) - (ay - y) * (cx - ax)) / area; // share of b
          const v = ((bx - ax) * (ay - y) - (ay - by) * (x - ax)) / area; // share of c
          const rest = 1 - u - v;
          if (u < 0 || v < 0 || rest < 0) continue;
          if (shadow) { pixels[here] = dark; continue; }
          const z = rest * za + u * zb + v * zc;
          if (z <= depth[here]) continue;
          depth[here] = z;
          const l = rest * la + u * lb + v * lc, r = Math.min(255, l * colour[0]), g = Math.min(255, l * colour[1]);
          pixels[here] = 0xff000000 | Math.min(255, l * colour[2]) << 16 | g << 8 | r;
        }
      }
    }
  }

  path() { // of the tool until now
    const [r, g, b] = this.trailColour, ink = 0xff000000 | b << 16 | g << 8 | r, p = [0, 0, 0], q = [0, 0, 0];
    const last = Math.floor(this.time / this.seconds * (this.trail.length / 3 - 1)), size = Math.max(2, Math.round(1.5 * this.fine));
    for (let k = 0; k < last; k++) {
      this.project(this.trail.subarray(3 * k, 3 * k + 3), p, 0);
      this.project(this.trail.subarray(3 * k + 3, 3 * k + 6), q, 0);
      const steps = Math.ceil(Math.max(Math.abs(q[0] - p[0]), Math.abs(q[1] - p[1]))) || 1;
      for (let s = 0; s < steps; s++) {
        const [x, y, z] = p.map((a, i) => a + (q[i] - a) * s / steps);
        for (let i = 0; i < size; i++) {
          for (let j = 0; j < size; j++) {
            const px = Math.round(x) + i, py = Math.round(y) + j, here = py * this.w + px;
            if (px < 0 || py < 0 || px >= this.w || py >= this.h || z < this.depth[here]) continue;
            this.pixels[here] = ink;
          }
        }
      }
    }
  }

  draw() {
    this.resize();
    this.look();
    this.floor();
    this.pixels.fill(0);
    this.depth.fill(0);
    for (const part of this.parts) this.pose(part);
    for (const part of this.parts) this.fill(part.flat, part, true);
    for (const part of this.parts) this.fill(part.place, part, false);
    this.path();
    this.sheet.getContext("2d").putImageData(this.image, 0, 0);
    this.context.drawImage(this.sheet, 0, 0);
  }
}

function normals(v, f) { // of every vertex: the mean of its faces, larger ones count more
  const n = new Float32Array(v.length);
  for (let t = 0; t < f.length; t += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => v.subarray(3 * f[t + k], 3 * f[t + k] + 3));
    const m = cross(plus(b, a, -1), plus(c, a, -1));
    for (let k = 0; k < 3; k++) for (let i = 0; i < 3; i++) n[3 * f[t + k] + i] += m[i];
  }
  for (let i = 0; i < n.length; i += 3) n.set(unit(n.subarray(i, i + 3)), i);
  return n;
}

for (const element of document.querySelectorAll(".arm")) {
  const arm = new Arm(element), button = element.querySelector("button"), clock = element.querySelector("output");
  const slider = element.querySelector("input");
  let playing = !matchMedia("(prefers-reduced-motion: reduce)").matches, seen = true, before = null, stale = true;
  const show = () => {
    slider.value = Math.round(1000 * arm.time / arm.seconds);
    slider.ariaValueText = `${(arm.start + arm.time).toFixed(1)} s`;
    clock.textContent = `${(arm.start + arm.time).toFixed(2)} s`;
    button.textContent = playing ? "pause" : "play";
    stale = true;
  };
  const frame = (now) => {
    if (playing && seen && before !== null) {
      arm.time = (arm.time + arm.speed * Math.min(0.1, (now - before) / 1000)) % arm.seconds;
      show();
    }
    before = now;
    if (stale && seen) { stale = false; arm.draw(); }
    requestAnimationFrame(frame);
  };
  button.addEventListener("click", () => { playing = !playing; show(); });
  slider.addEventListener("input", () => {
    playing = false;
    arm.time = slider.value / 1000 * arm.seconds;
    show();
  });
  let held = null;
  arm.canvas.addEventListener("pointerdown", (event) => {
    held = [event.clientX, event.clientY];
    arm.canvas.setPointerCapture(event.pointerId);
  });
  arm.canvas.addEventListener("pointermove", (event) => {
    if (held === null) return;
    arm.turn -= 0.01 * (event.clientX - held[0]);
    arm.tilt = Math.min(1.5, Math.max(0.05, arm.tilt + 0.01 * (event.clientY - held[1])));
    held = [event.clientX, event.clientY];
    stale = true;
  });
  for (const name of ["pointerup", "pointercancel"]) arm.canvas.addEventListener(name, () => held = null);
  arm.canvas.addEventListener("keydown", (event) => {
    const turn = {ArrowLeft: -0.1, ArrowRight: 0.1}[event.key] || 0, tilt = {ArrowUp: 0.1, ArrowDown: -0.1}[event.key] || 0;
    if (!turn && !tilt) return;
    arm.turn += turn;
    arm.tilt = Math.min(1.5, Math.max(0.05, arm.tilt + tilt));
    stale = true;
    event.preventDefault();
  });
  new IntersectionObserver((all) => { seen = all[all.length - 1].isIntersecting; }).observe(arm.canvas);
  new ResizeObserver(() => { stale = true; }).observe(arm.canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { stale = true; });
  show();
  requestAnimationFrame(frame);
}
