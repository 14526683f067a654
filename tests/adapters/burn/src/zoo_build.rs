//! Values and ids of `zoo/1`, by name.

use crate::args::{self, Args};
use crate::build::{Habits, Site, dynamic, lazy_float, lazy_other};
use crate::caught::{Fault, protocol};
use crate::custom::custom;
use crate::data::seeded;
use crate::layered::layered;
use crate::modules::AnyModule;
use crate::zoo::*;
use burn::module::parallel::LayerPlacement;
use burn::module::*;
use burn::tensor::{Bool, BoolStore, DType, Int, Tensor};

const NATIVE: DType = DType::Bool(BoolStore::Native);

impl Site {
    fn linear(&self, id: u64, bias: bool) -> Linear {
        Linear { weight: self.f32(id, [2, 3]), bias: bias.then(|| self.f32(id + 1, [3])) }
    }
    fn lazy<const D: usize>(&self, id: u64, shape: [usize; D], rg: bool) -> Param<Tensor<D>> {
        let data = seeded(self.base + id, &shape, DType::F32);
        lazy_float(self.id(id), data, shape, &self.device, rg, Habits::default())
    }
    fn kinds(&self, first: u64) -> Kinds {
        Kinds {
            b: self.other(first, &[2], NATIVE),
            z_first: self.f32(first + 1, [2, 2, 2]),
            i: self.other(first + 2, &[3], DType::I64),
            on: self.flag(first + 3, true),
            a_last: self.f32(first + 4, [1]),
        }
    }
    fn containers(&self) -> Containers {
        let one = |id| self.f32(id, [1]);
        Containers {
            vec: vec![self.linear(10, true), self.linear(12, false)],
            arr: [self.linear(14, true), self.linear(16, true)],
            tup: (self.linear(18, false), one(20), vec![one(21), one(22)]),
            some: Some(self.linear(23, true)),
            none: None,
            nested: vec![vec![Some(one(25)), None, Some(one(26))], vec![], vec![None]],
            empty_vec: vec![],
            opt_vec: Some(vec![self.linear(27, false)]),
            vec_opt: vec![None, Some(self.linear(29, true))],
        }
    }
    fn pick(&self, variant: &str) -> Result<Pick, Fault> {
        Ok(match variant {
            "One" => Pick::One(self.linear(1, true)),
            "Two" => Pick::Two(Nested { inner: self.linear(1, true) }),
            "Plain" => Pick::Plain(1.0),
            "Skipped" => Pick::Skipped(self.linear(1, true)),
            "List" => Pick::List(vec![self.linear(1, true)]),
            _ => return protocol(format!("zoo/pick has no variant `{variant}`")),
        })
    }
    fn net(&self, lazy: bool) -> Net {
        let training = self.flag(6, true);
        if !lazy {
            return Net {
                lin: self.linear(1, true),
                scale: Param::initialized(self.id(3), self.value(self.base + 3, &[2], DType::F32)),
                count: self.other(4, &[2], DType::I64),
                mask: self.other(5, &[2], NATIVE),
                training,
                rate: 0.5,
            };
        }
        let data = |id, dtype| seeded(self.base + id, &[2], dtype);
        Net {
            lin: Linear { weight: self.lazy(1, [2, 3], true), bias: Some(self.lazy(2, [3], true)) },
            scale: self.lazy(3, [2], false),
            count: lazy_other::<Tensor<1, Int>>(self.id(4), data(4, DType::I64), &[2], &self.device, true, Habits::default()),
            mask: lazy_other::<Tensor<1, Bool>>(self.id(5), data(5, NATIVE), &[2], &self.device, false, Habits::default()),
            training,
            rate: 0.5,
        }
    }
    fn generic(&self, of: &str) -> Result<Box<dyn AnyModule>, Fault> {
        let own = self.f32(9, [1]);
        Ok(match of {
            "linear" => Box::new(Gen { module: self.linear(1, true), own }),
            "tuple" => Box::new(Gen { module: (self.linear(1, true), self.kinds(20)), own }),
            "f64" => Box::new(Gen { module: 1.5f64, own }),
            "usize" => Box::new(Gen { module: 3usize, own }),
            "string" => Box::new(Gen { module: "hi \"q\"".to_string(), own }),
            "mixed" => Box::new(Gen { module: (self.linear(1, true), 3usize), own }),
            "option" => Box::new(Gen { module: Some(self.linear(1, true)), own }),
            "options" => Box::new(Gen { module: vec![Some(self.linear(1, true)), None], own }),
            _ => return protocol(format!("zoo/generic knows no `{of}`")),
        })
    }
    fn constants(&self, args: Args) -> Result<Consts, Fault> {
        Ok(Consts {
            p: if args["p"].is_null() { 0.5 } else { args::float(&args["p"])? },
            name: args["name"].as_str().unwrap_or("x").into(),
            n: if args["n"].is_null() { 2 } else { args::whole(&args["n"])? as usize },
            flag: args::flag_or(args, "flag", true)?,
            opt: Some(1.0),
            vecs: vec![1, 2],
            pair: (1, 2.0),
            weight: self.f32(1, [1]),
        })
    }
    fn tensors(&self, require_grad: bool) -> Tensors {
        let t: Tensor<2> = self.value(1, &[1, 2], DType::F32);
        Tensors {
            t: if require_grad { t.require_grad() } else { t },
            i: self.value(2, &[2], DType::I64),
            b: self.value(3, &[2], NATIVE),
            weight: self.f32(4, [2]),
        }
    }
}

/// Build a fixture; `placement` is the one that its arguments name, where they name one.
pub fn build(name: &str, args: Args, placement: Option<&LayerPlacement>) -> Result<Box<dyn AnyModule>, Fault> {
    let device = args::device_or(args, "device", &crate::devices::first())?;
    let base = if args["base"].is_null() { 0 } else { args::whole(&args["base"])? };
    let on = |key| args::flag_or(args, key, false);
    if name == "dynamic/1" {
        return Ok(Box::new(dynamic(args, device, base)?));
    }
    let s = Site { device, base };
    Ok(match name {
        "zoo/linear" => Box::new(s.linear(1, args::flag_or(args, "bias", true)?)),
        "zoo/mlp" => {
            let hidden = if args["hidden"].is_null() { 2 } else { args::whole(&args["hidden"])? };
            let input = s.linear(1, true);
            let hidden = (0..hidden).map(|i| s.linear(10 + 2 * i, true)).collect();
            Box::new(Mlp { input, hidden, output: s.linear(3, false), rate: 0.5 })
        }
        "zoo/kinds" => Box::new(s.kinds(1)),
        "zoo/containers" => Box::new(s.containers()),
        "zoo/nested" => Box::new(Deep {
            a: Nested { inner: s.linear(1, true) },
            pick: Pick::Two(Nested { inner: s.linear(3, true) }),
            picks: vec![Pick::One(s.linear(5, true)), Pick::Plain(2.0), Pick::List(vec![s.linear(7, false)])],
        }),
        "zoo/pick" => Box::new(s.pick(args["variant"].as_str().unwrap_or("One"))?),
        "zoo/generic" => s.generic(args["of"].as_str().unwrap_or("linear"))?,
        "zoo/constants" => Box::new(s.constants(args)?),
        "zoo/skip" => Box::new(Skips {
            weight: s.f32(1, [1]),
            tensor: s.value(7, &[2], DType::F32),
            names: vec!["a".into()],
            module: Some(s.linear(2, true)),
            level: 4,
        }),
        "zoo/flags" => Box::new(Flags {
            first: s.flag(1, true),
            inner: Flagged { weight: s.f32(2, [2, 2]), on: s.flag(3, false) },
            second: s.flag(4, true),
        }),
        "zoo/shared" => {
            let a = if on("lazy")? { s.lazy(1, [2], true) } else { s.f32(1, [2]) };
            Box::new(Shared { a: a.clone(), b: a })
        }
        "zoo/running" => Box::new(Running {
            mean: RunningState::with_id(s.id(3), s.value(s.base + 3, &[4], DType::F32)),
            w: s.f32(1, [1]),
        }),
        "zoo/tensors" => Box::new(s.tensors(on("require_grad")?)),
        "zoo/floats" => Box::new(Floats {
            f64: s.float(1, [2, 3], DType::F64),
            f32: s.float(2, [2, 3], DType::F32),
            f16: s.float(3, [2, 3], DType::F16),
            bf16: s.float(4, [2, 3], DType::BF16),
        }),
        "zoo/integers" => Box::new(Ints {
            i64: s.other(1, &[5], DType::I64),
            i32: s.other(2, &[5], DType::I32),
            i16: s.other(3, &[5], DType::I16),
            i8: s.other(4, &[5], DType::I8),
            u64: s.other(5, &[5], DType::U64),
            u32: s.other(6, &[5], DType::U32),
            u16: s.other(7, &[5], DType::U16),
            u8: s.other(8, &[5], DType::U8),
        }),
        "zoo/bools" => Box::new(Bools {
            native: s.other(1, &[3], NATIVE),
            u8: s.other(2, &[2, 2], DType::Bool(BoolStore::U8)),
        }),
        "zoo/shapes" => Box::new(Shapes {
            zero: s.f32(1, [0, 3]),
            zero_int: s.other(2, &[0], DType::I64),
            one: s.f32(3, [1]),
            r3: s.f32(4, [1, 2, 3]),
            r4: s.f32(5, [2, 3, 1, 4]),
        }),
        "zoo/transposed" => {
            let weight: Param<Tensor<2>> = if on("eager")? { s.f32(1, [2, 3]) } else { s.lazy(1, [2, 3], true) };
            let weight = weight.init_mapper(|t| t.transpose()).save_mapper(|t| t.transpose()).load_mapper(|t| t.transpose());
            Box::new(Linear { weight, bias: Some(s.f32(2, [3])) })
        }
        "zoo/net" => Box::new(s.net(on("lazy")?)),
        "zoo/recursive" => {
            let layer = s.linear(1, true);
            let leaf = |id| Tree { layer: s.linear(id, true), children: vec![], next: None };
            let children = vec![leaf(3), leaf(5)];
            let next = Some(Box::new(Chain { weight: s.f32(7, [1]), next: Some(Box::new(Chain { weight: s.f32(8, [1]), next: None })) }));
            Box::new(Tree { layer, children, next })
        }
        "zoo/tuple_struct" => Box::new(Tup(s.linear(1, true), 1.0, 4)),
        "zoo/unit" => Box::new(Unit {}),
        "zoo/tuple10" => {
            let p = |id| s.f32(id, [1]);
            Box::new(Ten { t: (p(1), p(2), p(3), p(4), p(5), p(6), p(7), p(8), p(9), p(10)) })
        }
        "zoo/count" => {
            let c = |id| Counted { weight: s.f32(id, [1]) };
            Box::new(Holder { list: vec![c(1), c(2)], pair: (c(3), c(4)), some: Some(c(5)), own: c(6) })
        }
        "zoo/custom" => custom(args, s.linear(1, true))?,
        "zoo/layered" => match placement {
            Some(placement) => layered(args, s.base, placement)?,
            None => return protocol("zoo/layered needs `placement`: the handle of one"),
        },
        _ => return protocol(format!("there is no fixture `{name}`")),
    })
}
